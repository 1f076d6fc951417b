// Schemas of runs whose nodes bring the model.
#include "mfl/data/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mfl {
namespace {

using ::testing::HasSubstr;

Schema of_trainer(std::string tensors, std::vector<std::string> classes = {}) {
  Schema schema;
  schema.task = LabelTask::kExternal;
  schema.columns = 12;
  schema.tensors = std::move(tensors);
  schema.classes = std::move(classes);
  return schema;
}

constexpr const char* kSmall = R"([{"name":"w","shape":[12]}])";
constexpr const char* kOther = R"([{"name":"w","shape":[3,4]}])";

TEST(ExternalSchema, TakesTheFirstTrainersModel) {
  Schema open;
  open.task = LabelTask::kExternal;
  EXPECT_FALSE(is_complete(open));
  const Schema run = settle(open, of_trainer(kSmall, {"b", "a"})).value();
  EXPECT_TRUE(is_complete(run));
  EXPECT_EQ(run.classes, (std::vector<std::string>{"b", "a"}));
  EXPECT_EQ(parse_schema(schema_json(run)).value(), run);
  EXPECT_THAT(schema_text(run), HasSubstr("model of 12 numbers"));
}

TEST(ExternalSchema, RefusesOtherTensorsAndOtherOrdersOfClasses) {
  const Schema run = of_trainer(kSmall, {"b", "a"});
  EXPECT_FALSE(difference(run, run));
  EXPECT_THAT(difference(run, of_trainer(kOther, {"b", "a"})).value_or(""),
              HasSubstr("tensor 1 of the model is w [3,4] here and w [12] in the run"));
  EXPECT_THAT(difference(run, of_trainer(kSmall, {"a", "b"})).value_or(""),
              HasSubstr("classes are \"a\", \"b\" here"));
  Schema binary;
  binary.task = LabelTask::kBinary;
  binary.columns = 12;
  EXPECT_THAT(difference(run, binary).value_or(""),
              HasSubstr("the task is binary here and external in the run"));
}

}  // namespace
}  // namespace mfl
