#include "mfl/data/dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "mfl/data/describe.h"

namespace mfl::test {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

Dataset bytes() {
  return {.rows = 3,
          .columns = 2,
          .scale = 0.5,
          .features = DenseRows<std::uint8_t>{{0, 2, 0, 4, 0, 0}},
          .labels = {7, 8, 7}};
}

Dataset sparse() {
  return {.rows = 3,
          .columns = 4,
          .scale = 1,
          .features = SparseRows<double>{{0, 1, 1, 3}, {2, 0, 3}, {1.5, -2, 0.1}},
          .labels = {1, 2, 3}};
}

constexpr std::array<std::uint32_t, 3> kPicked = {2, 0, 2};

TEST(TakeRows, KeepsTheOrderNamed) {
  const Dataset taken = take_rows(bytes(), kPicked);
  EXPECT_EQ(taken.rows, 3U);
  EXPECT_EQ(taken.scale, 0.5);
  EXPECT_THAT(std::get<0>(taken.features).values, ElementsAre(0, 0, 0, 2, 0, 0));
  EXPECT_THAT(taken.labels, ElementsAre(7, 7, 7));
}

TEST(TakeRows, SparseStaysSparse) {
  const Dataset taken = take_rows(sparse(), kPicked);
  const auto& rows = std::get<SparseRows<double>>(taken.features);
  EXPECT_THAT(rows.starts, ElementsAre(0, 2, 3, 5));
  EXPECT_THAT(rows.columns, ElementsAre(0, 3, 2, 0, 3));
  EXPECT_THAT(rows.values, ElementsAre(-2, 0.1, 1.5, -2, 0.1));
  EXPECT_THAT(taken.labels, ElementsAre(3, 1, 3));
  EXPECT_EQ(taken.columns, 4U);
}

TEST(TakeRows, NoneIsAnEmptySet) {
  const Dataset taken = take_rows(sparse(), {});
  EXPECT_EQ(taken.rows, 0U);
  EXPECT_THAT(std::get<SparseRows<double>>(taken.features).starts, ElementsAre(0));
}

TEST(WithPrecision, ConvertsFloatsAndLeavesBytes) {
  const Dataset f32 = with_precision(sparse(), Precision::kF32).value();
  EXPECT_THAT(std::get<SparseRows<float>>(f32.features).values, ElementsAre(1.5F, -2.0F, 0.1F));
  EXPECT_THAT(std::get<SparseRows<float>>(f32.features).columns, ElementsAre(2, 0, 3));
  const Dataset f64 = with_precision(f32, Precision::kF64).value();
  EXPECT_THAT(std::get<SparseRows<double>>(f64.features).values, ElementsAre(1.5, -2, double{0.1F}));
  EXPECT_TRUE(
      std::holds_alternative<DenseRows<std::uint8_t>>(with_precision(bytes(), Precision::kF32)->features));
  const Dataset dense{
      .rows = 1, .columns = 1, .scale = 1, .features = DenseRows<double>{{0.1}}, .labels = {0}};
  EXPECT_THAT(std::get<DenseRows<float>>(with_precision(dense, Precision::kF32)->features).values,
              ElementsAre(0.1F));
}

TEST(WithPrecision, ANumberTooLargeForF32IsAnError) {
  const Dataset dense{
      .rows = 1, .columns = 2, .scale = 1, .features = DenseRows<double>{{1, -1e300}}, .labels = {0}};
  const auto converted = with_precision(dense, Precision::kF32);
  ASSERT_FALSE(converted);
  EXPECT_EQ(converted.error().code, ErrorCode::kBadData);
  EXPECT_THAT(converted.error().message, ::testing::HasSubstr("-1e+300"));
  EXPECT_TRUE(with_precision(dense, Precision::kF64));
}

TEST(Reordered, IsWhatTakeRowsGives) {
  const std::vector<std::uint32_t> order = {2, 0, 1};
  for (const Dataset& data : {bytes(), sparse()}) {
    std::vector<std::uint32_t> rows(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(data.rows));
    if (data.rows == 2) rows = {1, 0};
    EXPECT_EQ(data_digest(reordered(data, rows)), data_digest(take_rows(data, rows)));
  }
  Dataset dense{.rows = 7,
                .columns = 2,
                .scale = 1,
                .features = DenseRows<float>{{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}},
                .labels = {0, 1, 2, 3, 4, 5, 6}};
  for (const std::vector<std::uint32_t>& rows : {std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5, 6},
                                                 {6, 5, 4, 3, 2, 1, 0},
                                                 {1, 2, 0, 3, 5, 6, 4},
                                                 {3, 0, 6, 1, 4, 2, 5}})
    EXPECT_EQ(data_digest(reordered(dense, rows)), data_digest(take_rows(dense, rows)));
}

TEST(WithPrecision, MovesWhenThereIsNothingToDo) {
  Dataset data = sparse();
  const double* values = std::get<SparseRows<double>>(data.features).values.data();
  data = with_precision(std::move(data), Precision::kF64).value();
  EXPECT_EQ(std::get<SparseRows<double>>(data.features).values.data(), values);
}

// Computed with Python: hashlib.sha256 over struct.pack of the fields.
TEST(DataDigest, IsPinned) {
  EXPECT_EQ(data_digest(bytes()), "56ec21447394e3f845c602d8e8767cf3eb83c4ce0fe2b84da41bd29457741b65");
  EXPECT_EQ(data_digest(sparse()), "ccad8aa7a69ed2bf0da4d83d350c1ea38e45cd03e3c36598c6f833e3d8dcc403");
}

TEST(DataDigest, ChangesWithEveryPart) {
  const std::string whole = data_digest(bytes());
  Dataset data = bytes();
  data.scale = 1;
  EXPECT_NE(data_digest(data), whole);
  data = bytes();
  data.labels[2] = 9;
  EXPECT_NE(data_digest(data), whole);
  data = bytes();
  std::get<0>(data.features).values[5] = 1;
  EXPECT_NE(data_digest(data), whole);
  data = bytes();
  std::swap(data.rows, data.columns);
  EXPECT_NE(data_digest(data), whole);
  EXPECT_NE(data_digest(with_precision(sparse(), Precision::kF32).value()), data_digest(sparse()));
}

TEST(Describe, Bytes) {
  const Description seen = describe(bytes());
  EXPECT_EQ(seen.storage, "bytes");
  EXPECT_EQ(seen.rows, 3U);
  EXPECT_EQ(seen.columns, 2U);
  EXPECT_EQ(seen.scale, 0.5);
  EXPECT_EQ(seen.min, 0);
  EXPECT_EQ(seen.max, 2);
  EXPECT_EQ(seen.nonzero_share, 2.0 / 6);
  EXPECT_EQ(seen.zero_columns, 1U);
  EXPECT_THAT(seen.classes, ElementsAre(Pair(7, 2), Pair(8, 1)));
}

TEST(Describe, SparseCountsTheZerosItDoesNotStore) {
  const Description seen = describe(sparse());
  EXPECT_EQ(seen.storage, "sparse f64");
  EXPECT_EQ(seen.min, -2);
  EXPECT_EQ(seen.max, 1.5);
  EXPECT_EQ(seen.nonzero_share, 3.0 / 12);
  EXPECT_EQ(seen.zero_columns, 1U);
  EXPECT_EQ(seen.label_mean, 2);
  const Dataset negative{
      .rows = 1, .columns = 2, .scale = 1, .features = SparseRows<double>{{0, 1}, {0}, {-5}}, .labels = {1}};
  EXPECT_EQ(describe(negative).max, 0);
}

TEST(Describe, DenseRangeDoesNotIncludeZeroByItself) {
  const Dataset data{
      .rows = 2, .columns = 1, .scale = 2, .features = DenseRows<float>{{3, 5}}, .labels = {0, 1}};
  EXPECT_EQ(describe(data).min, 6);
  EXPECT_EQ(describe(data).max, 10);
  EXPECT_EQ(describe(data).storage, "f32");
}

TEST(Describe, ManyLabelsAreSummarised) {
  Dataset data{.rows = 65,
               .columns = 1,
               .scale = 1,
               .features = DenseRows<double>{std::vector<double>(65)},
               .labels = {}};
  for (int i = 0; i < 65; ++i) data.labels.push_back(i);
  const Description seen = describe(data);
  EXPECT_TRUE(seen.classes.empty());
  EXPECT_EQ(seen.label_min, 0);
  EXPECT_EQ(seen.label_max, 64);
  EXPECT_NEAR(seen.label_mean, 32, 1e-12);
  data.labels[64] = 0;
  EXPECT_EQ(describe(data).classes.size(), 64U);
}

}  // namespace
}  // namespace mfl::test
