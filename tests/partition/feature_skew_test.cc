// Features that differ between nodes.
#include "mfl/partition/feature_skew.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace mfl::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <class X>
Dataset dense(std::vector<X> values, std::size_t columns, double scale = 1) {
  const std::size_t rows = values.size() / columns;
  return {.rows = rows,
          .columns = columns,
          .scale = scale,
          .features = DenseRows<X>{std::move(values)},
          .labels = std::vector<double>(rows)};
}

template <class X>
const std::vector<X>& values_of(const Dataset& data) {
  return std::get<DenseRows<X>>(data.features).values;
}

TEST(FeatureSkew, NoneChangesNothing) {
  Dataset data = dense<std::uint8_t>({1, 2, 3, 4}, 2);
  const std::vector<std::size_t> starts = {0, 1, 2};
  ASSERT_TRUE(skew_features("none", data, {starts, 0, 2, 1}));
  EXPECT_THAT(values_of<std::uint8_t>(data), ElementsAre(1, 2, 3, 4));
  const auto unknown = skew_features("nois", data, {starts, 0, 2, 1});
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().text(), HasSubstr("did you mean \"noise\"?"));
  EXPECT_THAT(skew_features("noise(-1)", data, {starts, 0, 2, 1}).error().text(), HasSubstr("in [0, 1e6]"));
}

TEST(FeatureSkew, NoiseGrowsWithTheNode) {
  constexpr std::size_t kNodes = 4, kRows = 400, kColumns = 25;
  const double scale = 1.0 / 255;
  Dataset data = dense(std::vector<std::uint8_t>(kNodes * kRows * kColumns, 100), kColumns, scale);
  std::vector<std::size_t> starts;
  for (std::size_t i = 0; i <= kNodes; ++i) starts.push_back(i * kRows);
  ASSERT_TRUE(skew_features("noise(0.5)", data, {starts, 0, kNodes, 3}));
  const auto& values = values_of<float>(data);
  for (std::size_t node = 0; node < kNodes; ++node) {
    double sum = 0, squares = 0;
    for (std::size_t i = starts[node] * kColumns; i < starts[node + 1] * kColumns; ++i) {
      const double x = static_cast<double>(values[i]) - 100 * scale;
      sum += x;
      squares += x * x;
    }
    const double count = kRows * kColumns, deviation = 0.5 * static_cast<double>(node + 1) / kNodes;
    EXPECT_NEAR(sum / count, 0, 5 * deviation / std::sqrt(count));
    EXPECT_NEAR(squares / count, deviation * deviation, 5 * deviation * deviation * std::sqrt(2 / count));
  }
}

// What a process does that holds some of the nodes, as an MPI rank does.
TEST(FeatureSkew, DoesNotDependOnTheOtherNodes) {
  std::vector<double> numbers(6 * 16);
  std::iota(numbers.begin(), numbers.end(), 0.0);
  for (const char* spec : {"noise(1)", "rotation(30)"}) {
    Dataset all = dense(numbers, 16);
    Dataset last = dense(std::vector<double>(numbers.begin() + 3 * 16, numbers.end()), 16);
    const std::vector<std::size_t> starts = {0, 1, 3, 6}, own = {0, 3};
    ASSERT_TRUE(skew_features(spec, all, {starts, 0, 3, 8}));
    ASSERT_TRUE(skew_features(spec, last, {own, 2, 3, 8}));
    EXPECT_EQ(std::vector<double>(values_of<double>(all).begin() + 3 * 16, values_of<double>(all).end()),
              values_of<double>(last))
        << spec;
    Dataset other = dense(numbers, 16);
    ASSERT_TRUE(skew_features(spec, other, {starts, 0, 3, 9}));
    EXPECT_EQ(values_of<double>(other) == values_of<double>(all), std::string(spec) == "rotation(30)");
  }
}

TEST(FeatureSkew, RotationByRightAnglesMovesPixelsCounterclockwise) {
  const std::vector<std::uint8_t> image = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  std::vector<std::uint8_t> five;
  for (int i = 0; i < 5; ++i) five.insert(five.end(), image.begin(), image.end());
  Dataset data = dense(five, 9);
  const std::vector<std::size_t> starts = {0, 1, 2, 3, 4, 5};
  ASSERT_TRUE(skew_features("rotation(90)", data, {starts, 0, 5, 1}));
  const auto node = [&](std::size_t i) {
    const auto& values = values_of<std::uint8_t>(data);
    const auto first = values.begin() + static_cast<std::ptrdiff_t>(9 * i);
    return std::vector<std::uint8_t>(first, first + 9);
  };
  EXPECT_EQ(node(0), image);
  EXPECT_THAT(node(1), ElementsAre(3, 6, 9, 2, 5, 8, 1, 4, 7));
  EXPECT_THAT(node(2), ElementsAre(9, 8, 7, 6, 5, 4, 3, 2, 1));
  EXPECT_THAT(node(3), ElementsAre(7, 4, 1, 8, 5, 2, 9, 6, 3));
  EXPECT_EQ(node(4), image);
}

TEST(FeatureSkew, RotationInterpolatesAndKeepsTheMiddle) {
  std::vector<double> image(2 * 25);
  image[25 + 12] = 8;  // the middle of the second image
  Dataset data = dense(image, 25);
  const std::vector<std::size_t> starts = {0, 1, 2};
  ASSERT_TRUE(skew_features("rotation(45)", data, {starts, 0, 2, 1}));
  const auto& values = values_of<double>(data);
  EXPECT_EQ(values[25 + 12], 8);
  const double near = 1 - std::sqrt(0.5);  // of a neighbour, whose source is (0.707, 0.707) from the middle
  EXPECT_NEAR(values[25 + 7], 8 * near * near, 1e-12);
  EXPECT_NEAR(values[25 + 11], 8 * near * near, 1e-12);
  EXPECT_EQ(values[25], 0);
}

TEST(FeatureSkew, RefusesWhatItCannotChange) {
  const std::vector<std::size_t> starts = {0, 1};
  Dataset twelve = dense(std::vector<double>(12), 12);
  const auto refused = skew_features("rotation", twelve, {starts, 0, 1, 1});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kBadConfig);
  EXPECT_EQ(refused.error().message, "feature_skew rotation: 12 features are no square image");
  EXPECT_FALSE(refused.error().hint.empty());
  Dataset sparse{
      .rows = 1, .columns = 9, .scale = 1, .features = SparseRows<double>{{0, 0}, {}, {}}, .labels = {0}};
  for (const char* spec : {"noise", "rotation"}) {
    const auto no = skew_features(spec, sparse, {starts, 0, 1, 1});
    ASSERT_FALSE(no) << spec;
    EXPECT_THAT(no.error().message, HasSubstr("sparse"));
  }
}

}  // namespace
}  // namespace mfl::test
