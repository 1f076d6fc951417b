#include "mfl/data/task.h"

#include "tests/data/small_files.h"

namespace mfl::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Task, EvenIsThePositiveClass) {
  const Dataset data = labelled({0, 1, 2, 9, 1e15});
  EXPECT_THAT(*make_targets(data, Task::kEvenOdd, TargetKind::kSigned), ElementsAre(1, -1, 1, -1, 1));
  EXPECT_THAT(*make_targets(data, Task::kEvenOdd, TargetKind::kUnit), ElementsAre(1, 0, 1, 0, 1));
  EXPECT_THAT(*make_targets(data, Task::kEvenOdd, TargetKind::kReal), ElementsAre(1, -1, 1, -1, 1));
}

TEST(Task, RawLabelsBecomeWhatTheModelNeeds) {
  for (const double negative : {0.0, -1.0}) {
    const Dataset data = labelled({1, negative, 1});
    EXPECT_THAT(*make_targets(data, Task::kRaw, TargetKind::kSigned), ElementsAre(1, -1, 1));
    EXPECT_THAT(*make_targets(data, Task::kRaw, TargetKind::kUnit), ElementsAre(1, 0, 1));
    EXPECT_THAT(*make_targets(data, Task::kRaw, TargetKind::kReal), ElementsAre(1, negative, 1));
  }
  for (const double only : {1.0, 0.0})
    expect_error(make_targets(labelled({only, only}), Task::kRaw, TargetKind::kSigned), ErrorCode::kBadData,
                 {"two classes"});
  EXPECT_THAT(*make_targets(labelled({2.5, -7}), Task::kRaw, TargetKind::kReal), ElementsAre(2.5, -7));
}

TEST(Task, LabelOutsideTheTaskIsNamed) {
  const auto negative = make_targets(labelled({1, -1}), Task::kEvenOdd, TargetKind::kSigned);
  expect_error(negative, ErrorCode::kBadData, {"\"-1\"", "even-odd"});
  EXPECT_THAT(negative.error().hint, HasSubstr("leave the task out"));
  expect_error(make_targets(labelled({2, 4, 2.5}), Task::kEvenOdd, TargetKind::kUnit), ErrorCode::kBadData,
               {"2.5"});
  const auto digits = make_targets(labelled({0, 1, 7}), Task::kRaw, TargetKind::kSigned);
  expect_error(digits, ErrorCode::kBadData, {"\"7\"", "third class", "\"0\", \"1\""});
  EXPECT_THAT(digits.error().hint, HasSubstr("merge"));
  expect_error(make_targets(labelled({1, -1, 0}), Task::kRaw, TargetKind::kUnit), ErrorCode::kBadData,
               {"label \"0\""});
  expect_error(make_targets(labelled({1, 0, -1}), Task::kRaw, TargetKind::kUnit), ErrorCode::kBadData,
               {"label \"-1\""});
}

TEST(Task, Names) {
  for (const Task task : {Task::kEvenOdd, Task::kRaw, Task::kMulticlass})
    EXPECT_EQ(*parse_task(task_name(task)), task);
  expect_error(parse_task("evenodd"), ErrorCode::kBadConfig, {"'evenodd'"});
  EXPECT_THAT(parse_task("evenodd").error().hint, HasSubstr("did you mean even-odd"));
}

TEST(Task, DefaultFollowsTheSource) {
  for (const TargetKind kind : {TargetKind::kSigned, TargetKind::kUnit, TargetKind::kReal}) {
    for (const char* spec : {"mnist", "idx:/a:b", "synthetic", "synthetic:10x10", "fleet"})
      EXPECT_EQ(default_task(spec, kind), Task::kEvenOdd) << spec;
    for (const char* spec : {"csv:mnist", "libsvm:a", "npy:b"})
      EXPECT_EQ(default_task(spec, kind), Task::kRaw) << spec;
  }
}

TEST(Task, IsMulticlassForTargetsThatAreIndices) {
  for (const char* spec : {"mnist", "idx:/a:b", "synthetic", "fleet:10x10", "csv:mnist", "npy:b"})
    EXPECT_EQ(default_task(spec, TargetKind::kIndex), Task::kMulticlass) << spec;
  EXPECT_EQ(label_task(Task::kRaw, TargetKind::kIndex), LabelTask::kMulticlass);
  EXPECT_EQ(label_task(Task::kEvenOdd, TargetKind::kIndex), LabelTask::kEvenOdd);
  for (const TargetKind kind :
       {TargetKind::kSigned, TargetKind::kUnit, TargetKind::kReal, TargetKind::kIndex})
    EXPECT_EQ(label_task(Task::kMulticlass, kind), LabelTask::kMulticlass);
  for (const Task task : {Task::kRaw, Task::kMulticlass})
    EXPECT_THAT(*make_targets(labelled({7, 3, 5, 3}), task, TargetKind::kIndex), ElementsAre(2, 0, 1, 0));
  expect_error(make_targets(labelled({3, 3}), Task::kRaw, TargetKind::kIndex), ErrorCode::kBadData,
               {"one class", "\"3\""});
}

}  // namespace
}  // namespace mfl::test
