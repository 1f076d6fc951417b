#include "mfl/aggregate/column_sums.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace mfl {
namespace {

Dataset dense(std::size_t columns, std::vector<double> values, double scale = 1) {
  Dataset out;
  out.rows = values.size() / columns;
  out.columns = columns;
  out.scale = scale;
  out.features = DenseRows<double>{std::move(values)};
  return out;
}

std::vector<double> random_values(std::size_t count, unsigned seed) {
  std::mt19937_64 bits(seed);
  std::vector<double> out(count);
  for (double& x : out) {
    const double size = std::ldexp(1.0, static_cast<int>(bits() % 60) - 30);
    x = size * (static_cast<double>(bits() >> 11U) * 0x1p-53 - 0.3);
  }
  return out;
}

Preprocessing measured(const ColumnSums& sums, Standardise how = Standardise::kFull) {
  Preprocessing out;
  out.standardise = how;
  sums.measure(out);
  return out;
}

// In long double, centred by its own mean: right to more digits than a double has.
struct Moments {
  long double mean, deviation;
};
Moments reference(const std::vector<double>& values, std::size_t columns, std::size_t column) {
  const std::size_t n = values.size() / columns;
  long double mean = 0, squares = 0;
  for (std::size_t r = 0; r < n; ++r) mean += static_cast<long double>(values[r * columns + column]);
  mean /= static_cast<long double>(n);
  for (std::size_t r = 0; r < n; ++r) {
    const long double off = static_cast<long double>(values[r * columns + column]) - mean;
    squares += off * off;
  }
  return {mean, std::sqrt(squares / static_cast<long double>(n))};
}

TEST(ColumnSums, MeansAndDeviationsAreRight) {
  constexpr std::size_t kColumns = 7;
  const std::vector<double> values = random_values(kColumns * 1001, 1);
  ColumnSums sums(kColumns, 0);
  ASSERT_TRUE(sums.add(dense(kColumns, values), {}));
  const Preprocessing found = measured(sums);
  for (std::size_t j = 0; j < kColumns; ++j) {
    const Moments expected = reference(values, kColumns, j);
    EXPECT_NEAR(found.means[j], static_cast<double>(expected.mean), 1e-12 * std::abs(found.means[j]));
    EXPECT_NEAR(found.deviations[j], static_cast<double>(expected.deviation), 1e-14 * found.deviations[j]);
  }
}

// Sums of squares in f64 would leave nothing of a deviation of 1 beside a mean of 10^9.
TEST(ColumnSums, ADeviationThatIsSmallBesideItsMeanIsRight) {
  std::vector<double> values;
  for (int r = 0; r < 1000; ++r) values.push_back(1e9 + (r % 2 == 0 ? 1 : -1));
  ColumnSums sums(1, 0);
  ASSERT_TRUE(sums.add(dense(1, values), {}));
  EXPECT_EQ(measured(sums).means[0], 1e9);
  EXPECT_EQ(measured(sums).deviations[0], 1);
}

TEST(ColumnSums, NeitherOrderNorHoldersNorMergesChangeABit) {
  constexpr std::size_t kColumns = 5, kRows = 300;
  const std::vector<double> values = random_values(kColumns * kRows, 2);
  ColumnSums whole(kColumns, 0);
  ASSERT_TRUE(whole.add(dense(kColumns, values), {}));
  std::vector<std::size_t> order(kRows);
  std::iota(order.begin(), order.end(), 0U);
  std::mt19937 shuffle(3);  // NOLINT(cert-msc51-cpp): the same order every time
  std::ranges::shuffle(order, shuffle);
  ColumnSums merged(kColumns, 0);
  for (const auto& [first, end] : {std::pair{200U, 300U}, std::pair{0U, 1U}, std::pair{1U, 200U}}) {
    std::vector<double> part;
    for (std::size_t i = first; i < end; ++i)
      part.insert(part.end(), values.begin() + static_cast<std::ptrdiff_t>(order[i] * kColumns),
                  values.begin() + static_cast<std::ptrdiff_t>((order[i] + 1) * kColumns));
    ColumnSums sums(kColumns, 0);
    ASSERT_TRUE(sums.add(dense(kColumns, part), {}));
    ASSERT_TRUE(merged.merge_packed(sums.pack()));
  }
  EXPECT_EQ(merged.rows(), kRows);
  EXPECT_EQ(measured(merged), measured(whole));
}

TEST(ColumnSums, SparseRowsHaveTheSumsOfDenseOnes) {
  constexpr std::size_t kColumns = 4;
  const std::vector<double> values = {0, 2.5, 0, -1, 0, 0, 0, 0, 1e-3, 0, 7, 0};
  Dataset sparse = dense(kColumns, values, 0.5);
  SparseRows<double> rows;
  rows.starts.push_back(0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] != 0) {
      rows.columns.push_back(static_cast<std::uint32_t>(i % kColumns));
      rows.values.push_back(values[i]);
    }
    if (i % kColumns == kColumns - 1) rows.starts.push_back(rows.values.size());
  }
  sparse.features = rows;
  ColumnSums a(kColumns, 0), b(kColumns, 0);
  ASSERT_TRUE(a.add(dense(kColumns, values, 0.5), {}));
  ASSERT_TRUE(b.add(sparse, {}));
  EXPECT_EQ(measured(a, Standardise::kScale), measured(b, Standardise::kScale));
  EXPECT_TRUE(measured(b, Standardise::kScale).means.empty());
}

TEST(ColumnSums, AConstantColumnIsNamedAndHasADeviationOfOne) {
  ColumnSums sums(3, 0);
  ASSERT_TRUE(sums.add(dense(3, {0.1, 1, 0, 0.1, 2, 0, 0.1, 3, 0}), {}));
  Preprocessing found;
  found.standardise = Standardise::kFull;
  EXPECT_EQ(sums.measure(found), (std::vector<std::size_t>{0, 2}));
  EXPECT_EQ(found.deviations[0], 1);
  EXPECT_EQ(found.means[0], 0.1);
}

TEST(ColumnSums, BalancedWeightsMakeClassesCountAlike) {
  ColumnSums sums(1, 3);
  ASSERT_TRUE(sums.add(dense(1, {1, 2, 3, 4, 5, 6}), std::vector<double>{0, 0, 0, 1, 1, 2}));
  EXPECT_EQ(sums.balanced_weights().value(), (std::vector<double>{6.0 / 9, 1, 2}));
  ColumnSums one_sided(1, 2);
  ASSERT_TRUE(one_sided.add(dense(1, {1, 2}), std::vector<double>{0, 0}));
  EXPECT_FALSE(one_sided.balanced_weights());
}

TEST(ColumnSums, OtherBytesAreRefused) {
  ColumnSums sums(2, 2);
  ASSERT_TRUE(sums.add(dense(2, {1, 2, 3, 4}), std::vector<double>{0, 1}));
  const std::string good = sums.pack();
  ColumnSums to(2, 2);
  EXPECT_FALSE(to.merge_packed(""));
  for (std::size_t size = 0; size < good.size(); ++size) EXPECT_FALSE(to.merge_packed(good.substr(0, size)));
  EXPECT_FALSE(to.merge_packed(good + "1234"));
  std::string wrong = good;
  wrong[0] = 7;  // rows that no class has
  EXPECT_FALSE(to.merge_packed(wrong));
  EXPECT_EQ(to.rows(), 0U);
  EXPECT_TRUE(to.merge_packed(good));
  EXPECT_LE(good.size(), ColumnSums::most_packed_bytes(2, 2));
}

TEST(ColumnSums, ASquareBeyondNumbersIsAnError) {
  ColumnSums sums(1, 0);
  const auto added = sums.add(dense(1, {1e200}), {});
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().code, ErrorCode::kBadData);
}

}  // namespace
}  // namespace mfl
