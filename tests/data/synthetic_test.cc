#include "mfl/data/synthetic.h"

#include <gtest/gtest.h>

#include "mfl/data/describe.h"
#include "mfl/data/task.h"

namespace mfl::test {
namespace {

const std::vector<std::uint8_t>& pixels(const Dataset& data) {
  return std::get<DenseRows<std::uint8_t>>(data.features).values;
}

TEST(Synthetic, RowsDependOnSeedAndNumberAlone) {
  const Dataset large = *make_synthetic(50, 30, 7);
  const SyntheticRows source(30, 7);
  std::vector<std::uint8_t> row(30);
  for (const std::size_t r : {49U, 0U, 13U}) {
    EXPECT_EQ(source.fill(r, row), large.labels[r]);
    EXPECT_TRUE(
        std::equal(row.begin(), row.end(), pixels(large).begin() + static_cast<std::ptrdiff_t>(r * 30)));
  }
  EXPECT_NE(data_digest(large), data_digest(*make_synthetic(50, 30, 8)));
}

TEST(Synthetic, IsPinned) {
  EXPECT_EQ(data_digest(*make_synthetic(20, 784, 1)),
            "4d33f14671db5bbe50e752ff920c6b9ada2dee625a2926799c9f1a5ce57ef09c");
}

TEST(Synthetic, LooksLikeMnist) {
  const Description seen = describe(*make_synthetic(2000, 784, 3));
  EXPECT_EQ(seen.storage, "bytes");
  EXPECT_EQ(seen.classes.size(), 10U);
  EXPECT_EQ(seen.label_max, 9);
  for (const auto& [label, count] : seen.classes) EXPECT_GT(count, 140U) << label;
  EXPECT_GT(seen.nonzero_share, 0.1);
  EXPECT_LT(seen.nonzero_share, 0.35);
  EXPECT_GT(seen.zero_columns, 100U);
  EXPECT_EQ(seen.max, 1);
}

// Heavy ball on the linear model, with the paper's step: accuracy on rows that were not trained on.
double linear_accuracy(std::uint64_t seed, std::size_t columns) {
  constexpr std::size_t kTrain = 1000;
  constexpr std::size_t kTest = 1000;
  const Dataset data = *make_synthetic(kTrain + kTest, columns, seed);
  const std::vector<double> y = *make_targets(data, Task::kEvenOdd, TargetKind::kSigned);
  const std::vector<float> x(pixels(data).begin(), pixels(data).end());
  std::vector<float> w(columns), d(columns);
  const auto score = [&](std::size_t row) {
    float z = 0;
    for (std::size_t j = 0; j < columns; ++j) z += x[row * columns + j] * w[j];
    return z / 255;
  };
  for (int step = 0; step < 100; ++step) {
    for (float& value : d) value *= 0.9F;
    for (std::size_t row = 0; row < kTrain; ++row) {
      const float slope = (score(row) - static_cast<float>(y[row])) / (255 * float{kTrain});
      for (std::size_t j = 0; j < columns; ++j) d[j] += slope * x[row * columns + j];
    }
    for (std::size_t j = 0; j < columns; ++j) w[j] -= 0.002F * d[j];
  }
  std::size_t right = 0;
  for (std::size_t row = kTrain; row < kTrain + kTest; ++row)
    right += (score(row) > 0) == (y[row] > 0) ? 1 : 0;
  return static_cast<double>(right) / kTest;
}

TEST(Synthetic, ALinearModelLearnsItButNotAllOfIt) {
  for (const std::uint64_t seed : {0U, 1U}) {
    const double accuracy = linear_accuracy(seed, 784);
    EXPECT_GT(accuracy, 0.80) << seed;
    EXPECT_LT(accuracy, 0.95) << seed;
  }
}

TEST(Synthetic, SmallAndImpossibleShapes) {
  EXPECT_EQ(make_synthetic(1, 1, 0)->rows, 1U);
  for (const auto& [rows, columns] : {std::pair<std::size_t, std::size_t>{0, 5},
                                      {5, 0},
                                      {std::size_t{1} << 40, 784},
                                      {1, std::size_t{1} << 33}}) {
    const auto data = make_synthetic(rows, columns, 0);
    ASSERT_FALSE(data);
    EXPECT_EQ(data.error().code, ErrorCode::kBadConfig);
  }
}

}  // namespace
}  // namespace mfl::test
