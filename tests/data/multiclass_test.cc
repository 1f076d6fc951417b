#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "mfl/data/csv.h"
#include "mfl/data/libsvm.h"
#include "mfl/data/schema.h"
#include "mfl/data/source.h"
#include "mfl/data/synthetic.h"
#include "mfl/data/task.h"
#include "tests/data/small_files.h"

namespace mfl::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr LabelTask kMany = LabelTask::kMulticlass;

Schema multiclass_alone(const Dataset& data) { return schema_alone(data, kMany); }

Schema with_classes(std::vector<std::string> classes) {
  return {3, {"id", "age", "bmi"}, "", "kind", kMany, std::move(classes), ""};
}

TEST(Multiclass, EveryLabelIsAClassAndItsTargetTheIndex) {
  const Folder folder;
  const Dataset iris = csv_rows(folder, "width,kind\n1,virginica\n2,setosa\n3,versicolor\n4,setosa\n");
  const Schema schema = multiclass_alone(iris);
  EXPECT_EQ(schema.task, kMany);
  EXPECT_THAT(schema.classes, ElementsAre("setosa", "versicolor", "virginica"));
  EXPECT_EQ(schema.positive, "");
  EXPECT_TRUE(is_complete(schema));
  EXPECT_THAT(make_targets(iris, schema, TargetKind::kIndex).value(), ElementsAre(2, 0, 1, 0));
  EXPECT_EQ(schema_text(schema), "1 features; column \"kind\": classes setosa, versicolor, virginica");

  const Dataset mixed = csv_rows(folder, "a,b\n1,x\n2,10\n3,9.0\n4,-2\n5,1e1\n");
  EXPECT_THAT(multiclass_alone(mixed).classes, ElementsAre("-2", "9", "10", "x"));
  EXPECT_THAT(make_targets(mixed, multiclass_alone(mixed), TargetKind::kIndex).value(),
              ElementsAre(3, 2, 1, 0, 2));
  EXPECT_THAT(multiclass_alone(labelled({0.5, -0.0, 0, 0.25})).classes, ElementsAre("0", "0.25", "0.5"));
}

TEST(Multiclass, TwoClassesAreClassesAsWell) {
  const Dataset data = labelled({1, -1, 1});
  EXPECT_THAT(multiclass_alone(data).classes, ElementsAre("-1", "1"));
  EXPECT_EQ(multiclass_alone(data).positive, "");
  EXPECT_THAT(make_targets(data, multiclass_alone(data), TargetKind::kIndex).value(), ElementsAre(1, 0, 1));
}

TEST(Multiclass, TheIndexFollowsTheOrderAndNotThePositiveClassOfTwo) {
  const Dataset data = labelled({0, 1, 2, 7});
  EXPECT_THAT(*make_targets(data, Task::kEvenOdd, TargetKind::kIndex), ElementsAre(1, 0, 1, 0));
  Schema pair{1, {}, "", "", LabelTask::kBinary, {"0", "1"}, "0"};
  EXPECT_THAT(make_targets(labelled({0, 1}), pair, TargetKind::kIndex).value(), ElementsAre(0, 1));
  EXPECT_THAT(make_targets(labelled({0, 1}), pair, TargetKind::kUnit).value(), ElementsAre(1, 0));
  pair.classes = {"1"};
  pair.positive = "1";
  expect_error(make_targets(labelled({1}), pair, TargetKind::kIndex), ErrorCode::kBadData, {"one class"});
}

TEST(Multiclass, SyntheticDataHasTenClassesHoweverFewRows) {
  const Dataset few = make_synthetic(3, 4, 1).value();
  EXPECT_EQ(multiclass_alone(few).classes, digit_classes());
  EXPECT_EQ(make_targets(few, multiclass_alone(few), TargetKind::kIndex).value(), few.labels);
  DataOptions options;
  options.source = "synthetic:3x4";
  options.seed = 1;
  const Dataset rows = open_rows(options)->train.without_features();
  EXPECT_EQ(observe(rows, kMany).value(), observe(few, kMany).value());
  EXPECT_THAT(observe(labelled({1, 2}), kMany)->classes, ElementsAre("1", "2"));
  EXPECT_FALSE(observe(few, LabelTask::kRegression)->classes.size());
}

TEST(Multiclass, MnistHasTenClassesAndAnotherIdxFolderThoseThatItShows) {
  const Folder folder;
  folder.write("other/train-images", idx({2, 1, 1}, "ab"));
  folder.write("other/train-labels", idx({2}, "\x03\x0b"));
  folder.write("mnist/train-images", idx({2, 1, 1}, "ab"));
  folder.write("mnist/train-labels", idx({2}, "\x03\x07"));
  ::setenv("MFL_CACHE", folder.path().c_str(), 1);
  for (const std::string& source : {std::string("mnist"), "idx:" + folder.path("other").string()}) {
    DataOptions options;
    options.source = source;
    const auto expected = source == "mnist" ? digit_classes() : std::vector<std::string>{"3", "11"};
    EXPECT_EQ(observe(load(options)->train, kMany)->classes, expected);
    EXPECT_EQ(observe(open_rows(options)->train.without_features(), kMany)->classes, expected);
  }
  ::unsetenv("MFL_CACHE");
}

TEST(Multiclass, AClassThatTheRunDoesNotHaveIsRefusedWithItsPlace) {
  const Folder folder;
  const Schema run = multiclass_alone(csv_rows(folder, "a,kind\n1,x\n2,y\n3,z\n"));
  expect_error(make_targets(csv_rows(folder, "a,kind\n1,x\n2,w\n"), run, TargetKind::kIndex),
               ErrorCode::kBadData,
               {"points.csv, line 3, column 2", "label \"w\"", "not one of the classes \"x\", \"y\", \"z\""});
  EXPECT_THAT(make_targets(csv_rows(folder, "a,kind\n1,z\n"), run, TargetKind::kIndex).value(),
              ElementsAre(2));
  EXPECT_EQ(settle(with_classes({"1", "2", "3"}), with_classes({"2", "7"})).error().message,
            "class \"7\" is not one of \"1\", \"2\", \"3\" in the run");
  const Dataset sparse = read_libsvm(folder.write("a.svm", "# x\n1 1:1\n5 2:1\n")).value();
  expect_error(make_targets(sparse, multiclass_alone(labelled({0, 1, 2})), TargetKind::kIndex),
               ErrorCode::kBadData, {"a.svm, line 3", "\"5\""});
}

TEST(Multiclass, OneClassIsTooFew) {
  const Schema one = settle({}, observe(labelled({1, 1}), kMany).value()).value();
  EXPECT_THAT(one.classes, ElementsAre("1"));
  EXPECT_FALSE(is_complete(one));
  expect_error(settle_alone(one), ErrorCode::kBadData, {"one class", "\"1\""});
  expect_error(settle_alone(with_classes({})), ErrorCode::kBadData, {"no class"});
  EXPECT_EQ(settle(one, observe(labelled({2, 1}), kMany).value()).value(), multiclass_alone(labelled({1, 2})))
      << "classes of which only one is known are still open";
}

TEST(Multiclass, TooManyClassesAreProbablyQuantities) {
  std::vector<double> labels(kMostClasses);
  std::iota(labels.begin(), labels.end(), 0.0);
  EXPECT_EQ(observe(labelled(labels), kMany)->classes.size(), kMostClasses);
  labels.push_back(0.5);
  labels.push_back(0.25);
  const auto refused = observe(labelled(labels), kMany);
  expect_error(refused, ErrorCode::kBadData, {"label \"0.5\"", "10000"});
  EXPECT_THAT(refused.error().hint, HasSubstr("--model linear"));
  labels.clear();
  for (int i = 0; i < 9000; ++i) labels.push_back(1 + 1.0 / (i + 3));
  expect_error(observe(labelled(labels), kMany), ErrorCode::kBadData, {"bytes"});
}

TEST(Multiclass, HasNoPositiveClass) {
  Schema run = with_classes({"a", "b", "c"});
  run.positive = "a";
  expect_error(settle(run, with_classes({"a"})), ErrorCode::kBadData, {"\"a\"", "no positive class"});
  EXPECT_THAT(difference(with_classes({"a", "b"}), run).value_or(""), HasSubstr("\"c\""));
  run.classes = {"a"};
  EXPECT_EQ(difference(with_classes({"a", "b"}), run),
            "the positive class is \"a\" here and a multiclass run has none");
  expect_error(check_targets(run, TargetKind::kIndex, "model softmax"), ErrorCode::kBadConfig,
               {"no positive class"});
  Schema open;
  open.positive = "a";
  expect_error(check_targets(open, TargetKind::kIndex, "model softmax"), ErrorCode::kBadConfig,
               {"no positive class"});
  EXPECT_TRUE(check_targets(open, TargetKind::kSigned, "model svm"));
  open.task = LabelTask::kBinary;
  EXPECT_TRUE(check_targets(open, TargetKind::kIndex, "model softmax"));
}

TEST(Multiclass, ModelsOfTwoClassesOrNumbersDoNotTakeIt) {
  const Schema many = with_classes({"a", "b", "c"});
  Schema open = many;
  open.task = LabelTask::kUnknown;
  for (const TargetKind kind : {TargetKind::kSigned, TargetKind::kUnit, TargetKind::kReal}) {
    for (const Schema& schema : {many, open}) {
      const auto refused = check_targets(schema, kind, "model x");
      expect_error(refused, ErrorCode::kBadConfig, {"model x"});
      EXPECT_THAT(refused.error().hint, HasSubstr("model softmax"));
    }
    expect_error(make_targets(labelled({0, 1}), many, kind), ErrorCode::kBadConfig, {"multiclass"});
    expect_error(make_targets(labelled({0, 1, 2}), Task::kMulticlass, kind), ErrorCode::kBadConfig,
                 {"multiclass"});
  }
  EXPECT_TRUE(check_targets(many, TargetKind::kIndex, "model softmax"));
  EXPECT_TRUE(check_targets(open, TargetKind::kIndex, "model softmax"));
  Schema binary = many;
  binary.task = LabelTask::kBinary;
  expect_error(check_targets(binary, TargetKind::kIndex, "model softmax"), ErrorCode::kBadConfig,
               {"binary", "classes names 3"});
  Schema regression;
  regression.task = LabelTask::kRegression;
  expect_error(check_targets(regression, TargetKind::kIndex, "model softmax"), ErrorCode::kBadConfig,
               {"regression"});
  for (const TargetKind kind :
       {TargetKind::kSigned, TargetKind::kUnit, TargetKind::kReal, TargetKind::kIndex})
    EXPECT_TRUE(check_targets({}, kind, "model x"));
}

TEST(Multiclass, OtherTasksDoNotFit) {
  const Schema many = with_classes({"a", "b", "c"});
  Schema two = with_classes({"a", "b"});
  two.task = LabelTask::kBinary;
  EXPECT_EQ(difference(many, two), "the task is binary here and multiclass in the run");
  EXPECT_EQ(difference(two, many), "the task is multiclass here and binary in the run");
  Schema open = many;
  open.task = LabelTask::kUnknown;
  EXPECT_EQ(difference(open, two), "the task is binary here and the run has 3 classes");
  EXPECT_EQ(settle(open, with_classes({"b"})).value(), many);
}

TEST(Multiclass, ManyClassesAreShortenedForPeople) {
  EXPECT_EQ(labels_text(with_classes(digit_classes())), "column \"kind\": classes 0, 1, 2, ... (10)");
  EXPECT_EQ(labels_text(with_classes({"0", "1", "2", "3", "4"})), "column \"kind\": classes 0, 1, 2, 3, 4");
  EXPECT_EQ(labels_text(with_classes({})), "column \"kind\": classes not known yet");
  EXPECT_EQ(difference(with_classes(digit_classes()), with_classes({"9", "10"})),
            "class \"10\" is not one of \"0\", \"1\", \"2\", ... (10) in the run");
  EXPECT_EQ(shortened(with_classes(digit_classes()), 5).classes, digit_classes());
}

TEST(Multiclass, JsonOfOtherShapesIsRefused) {
  for (const char* bad :
       {R"({"task":"multiclass","classes":["b","a"]})", R"({"task":"multiclass","classes":["a","a"]})",
        R"({"task":"multiclass","classes":["10","9"]})",
        R"({"task":"multiclass","classes":["a","b"],"positive":"a"})",
        R"({"task":"binary","classes":["a","b","c"]})", R"({"task":"even-odd","classes":["a","b","c"]})",
        R"({"task":"regression","classes":["a","b","c"]})", R"({"classes":["c","b","a"]})"})
    EXPECT_FALSE(parse_schema(bad)) << bad;
  std::string many = R"({"task":"multiclass","classes":["0")";
  for (std::size_t i = 1; i <= kMostClasses; ++i) many += ",\"" + std::to_string(i) + '"';
  EXPECT_FALSE(parse_schema(many + "]}"));
}

TEST(Multiclass, ALabelTaskHasAName) {
  for (const LabelTask task : {LabelTask::kUnknown, LabelTask::kBinary, LabelTask::kEvenOdd,
                               LabelTask::kRegression, LabelTask::kMulticlass})
    EXPECT_EQ(parse_label_task(label_task_name(task)), task);
  EXPECT_EQ(label_task_name(kMany), "multiclass");
}

// Numbers, texts and what is nearly either.
std::string any_class() {
  switch (*rc::gen::inRange(0, 4)) {
    case 0: return class_name(std::to_string(*rc::gen::inRange(-20, 20)));
    case 1: return class_name(number_label(*rc::gen::inRange(-9, 9) / 4.0));
    case 2:
      return *rc::gen::element<std::string>("nan", "NaN", "inf", "-inf", "infinity", "1x", "+", "\xc3\xa4",
                                            "a,b", "\"", "nan(1)");
    default:
      return *rc::gen::container<std::string>(*rc::gen::inRange<std::size_t>(1, 6),
                                              rc::gen::inRange<char>('a', 'e'));
  }
}

std::vector<std::string> any_classes(std::size_t least) {
  std::vector<std::string> classes(*rc::gen::inRange<std::size_t>(least, 12));
  for (std::string& name : classes) name = any_class();
  std::ranges::sort(classes, class_before);
  const auto same = std::ranges::unique(classes);
  classes.erase(same.begin(), same.end());
  RC_PRE(classes.size() >= least);
  return classes;
}

Schema any_schema(std::size_t least) {
  Schema schema = with_classes(any_classes(least));
  if (*rc::gen::arbitrary<bool>()) schema.label.clear();
  if (*rc::gen::arbitrary<bool>()) schema.features.clear();
  return schema;
}

// Some of the classes, in order.
Schema part_of(Schema schema) {
  std::erase_if(schema.classes, [](const std::string&) { return *rc::gen::arbitrary<bool>(); });
  return schema;
}

RC_GTEST_PROP(MulticlassLaws, ClassesHaveATotalOrder, ()) {
  const std::string a = any_class(), b = any_class(), c = any_class();
  RC_ASSERT(!class_before(a, a));
  RC_ASSERT((a == b) == (!class_before(a, b) && !class_before(b, a)));
  RC_ASSERT(!(class_before(a, b) && class_before(b, a)));
  RC_ASSERT(!(class_before(a, b) && class_before(b, c)) || class_before(a, c));
}

RC_GTEST_PROP(MulticlassLaws, JsonBringsBackTheSchema, ()) {
  const Schema schema = any_schema(0);
  RC_ASSERT(parse_schema(schema_json(schema)).value() == schema);
  Schema open = schema;
  open.task = LabelTask::kUnknown;
  RC_ASSERT(parse_schema(schema_json(open)).value() == open);
}

RC_GTEST_PROP(MulticlassLaws, DataWithSomeOfTheClassesFitsAndChangesNothing, ()) {
  const Schema run = any_schema(2);
  const Schema part = part_of(run);
  RC_ASSERT(!difference(run, part));
  RC_ASSERT(settle(run, part).value() == run);
  RC_ASSERT(settle_alone(run).value() == run);
  RC_ASSERT(is_complete(run));
}

RC_GTEST_PROP(MulticlassLaws, DataWithAnotherClassDoesNotFitAndTheClassIsNamed, ()) {
  const Schema run = any_schema(2);
  Schema data = part_of(run);
  const std::string other = any_class();
  RC_PRE(std::ranges::count(run.classes, other) == 0);
  data.classes.push_back(other);
  std::ranges::sort(data.classes, class_before);
  RC_ASSERT(difference(run, data).value_or("").find("class \"" + other + "\" is not one of") == 0);
  RC_ASSERT(!settle(run, data));
}

RC_GTEST_PROP(MulticlassLaws, AnOpenRunTakesWhatTheDataHasOnce, ()) {
  const Schema data = any_schema(2);
  const Schema run = settle({}, data).value();
  RC_ASSERT(run == data);
  RC_ASSERT(settle(run, data).value() == run);
}

RC_GTEST_PROP(MulticlassLaws, TargetsAreIndicesWhateverTheOrderOfRows, ()) {
  const auto classes = any_classes(2);
  Origin origin;
  origin.classes.assign(classes.rbegin(), classes.rend());
  Dataset data = labelled({});
  data.rows = *rc::gen::inRange<std::size_t>(1, 30);
  for (std::size_t i = 0; i < data.rows; ++i)
    data.labels.push_back(static_cast<double>(*rc::gen::inRange<std::size_t>(0, classes.size())));
  data.origin = std::make_shared<const Origin>(origin);
  const Schema run = with_classes(classes);
  const auto targets = make_targets(data, run, TargetKind::kIndex).value();
  for (std::size_t i = 0; i < data.rows; ++i)
    RC_ASSERT(run.classes[static_cast<std::size_t>(targets[i])] == label_text(data, data.labels[i]));
  RC_ASSERT(std::ranges::is_sorted(observe(data, kMany)->classes, class_before));
}

}  // namespace
}  // namespace mfl::test
