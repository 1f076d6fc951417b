#include "mfl/data/preprocessing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mfl/data/schema.h"

namespace mfl {
namespace {

using ::testing::HasSubstr;

Dataset byte_rows() {
  Dataset out;
  out.rows = 2;
  out.columns = 2;
  out.scale = 0.5;
  out.features = DenseRows<std::uint8_t>{{2, 4, 6, 8}};
  return out;
}

Dataset sparse_rows() {
  Dataset out;
  out.rows = 2;
  out.columns = 3;
  out.scale = 2;
  out.features = SparseRows<double>{{0, 1, 1}, {1}, {3}};
  return out;
}

TEST(Preprocessing, NothingToDoLeavesDataAsItIs) {
  const Dataset same = preprocessed(byte_rows(), {}, false).value();
  EXPECT_EQ(same.scale, 0.5);
  EXPECT_TRUE(std::holds_alternative<DenseRows<std::uint8_t>>(same.features));
}

TEST(Preprocessing, SubtractsDividesAndAddsAColumnOfOnes) {
  Preprocessing how;
  how.standardise = Standardise::kFull;
  how.means = {2, 3};
  how.deviations = {1, 0.5};
  const Dataset ready = preprocessed(byte_rows(), how, true).value();
  EXPECT_EQ(ready.columns, 3U);
  EXPECT_EQ(ready.scale, 1);
  EXPECT_EQ(std::get<DenseRows<double>>(ready.features).values, (std::vector<double>{-1, -2, 1, 1, 2, 1}));
}

TEST(Preprocessing, SparseRowsKeepTheirZeros) {
  Preprocessing how;
  how.standardise = Standardise::kScale;
  how.deviations = {1, 4, 1};
  const Dataset ready = preprocessed(sparse_rows(), how, true).value();
  const auto& rows = std::get<SparseRows<double>>(ready.features);
  EXPECT_EQ(rows.starts, (std::vector<std::uint64_t>{0, 2, 3}));
  EXPECT_EQ(rows.columns, (std::vector<std::uint32_t>{1, 3, 3}));
  EXPECT_EQ(rows.values, (std::vector<double>{1.5, 1, 1}));
}

TEST(Preprocessing, MeansOfSparseRowsAreRefused) {
  Preprocessing how;
  how.standardise = Standardise::kFull;
  how.means = {0, 0, 0};
  how.deviations = {1, 1, 1};
  const auto refused = preprocessed(sparse_rows(), how, false);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().hint, HasSubstr("standardise = scale"));
}

TEST(Preprocessing, IsPartOfTheSchemaAsText) {
  Schema schema;
  schema.columns = 2;
  schema.features = {"a", "b"};
  schema.task = LabelTask::kBinary;
  schema.classes = {"0", "1"};
  schema.positive = "1";
  schema.own_data = true;
  schema.preprocessing = {true, Standardise::kFull, {0.1, -2}, {1, 1e-7}, {0.5, 2}};
  EXPECT_EQ(parse_schema(schema_json(schema)).value(), schema);
}

TEST(Preprocessing, BadTextIsRefused) {
  for (
      const char* bad :
      {R"({"columns":1,"preprocessing":3})",
       R"({"columns":1,"preprocessing":{"intercept":1,"standardise":"none"}})",
       R"({"columns":1,"preprocessing":{"intercept":true,"standardise":"half"}})",
       R"({"columns":2,"preprocessing":{"intercept":true,"standardise":"scale","deviations":[1]}})",
       R"({"columns":1,"preprocessing":{"intercept":true,"standardise":"scale","deviations":[0]}})",
       R"({"columns":1,"preprocessing":{"intercept":true,"standardise":"full","deviations":[1]}})",
       R"({"columns":1,"preprocessing":{"intercept":true,"standardise":"scale","deviations":[1],"means":[1]}})"})
    EXPECT_FALSE(parse_schema(bad)) << bad;
}

}  // namespace
}  // namespace mfl
