#include "mfl/data/fleet.h"

#include <Random123/philox.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "mfl/base/digest.h"

namespace mfl {
namespace {

struct Node {
  std::vector<std::uint8_t> pixels;
  std::vector<double> classes;
  bool operator==(const Node&) const = default;
};

ClassTargets<double> numbers() {
  ClassTargets<double> out;
  std::iota(out.begin(), out.end(), 0.0);
  return out;
}

Node make(const FleetRows& rows, std::uint64_t node, const KernelSet& kernels = default_kernel_set()) {
  Node out;
  out.classes.resize(rows.samples(node));
  out.pixels.resize(out.classes.size() * rows.shape().columns);
  rows.fill<double>(node, out.pixels, out.classes, numbers(), kernels);
  return out;
}

TEST(Fleet, ReadsItsSpec) {
  EXPECT_TRUE(is_fleet("fleet") && is_fleet("fleet:10x784"));
  EXPECT_FALSE(is_fleet("fleets") || is_fleet("synthetic") || is_fleet(""));
  EXPECT_EQ(parse_fleet("fleet")->most, 10U);
  EXPECT_EQ(parse_fleet("fleet")->columns, 784U);
  const FleetShape range = *parse_fleet("fleet:5-50x20");
  EXPECT_EQ(range.least, 5U);
  EXPECT_EQ(range.most, 50U);
  EXPECT_EQ(range.columns, 20U);
  for (const char* bad :
       {"fleet:", "fleet:10", "fleet:0x5", "fleet:5x0", "fleet:5-x5", "fleet:-5x5", "fleet:6-5x5",
        "fleet:10x784x3", "fleet:ax5", "fleet:65537x5", "fleet:65536x65536", "fleet:1 x5"}) {
    const auto shape = parse_fleet(bad);
    ASSERT_FALSE(shape) << bad;
    EXPECT_EQ(shape.error().code, ErrorCode::kBadConfig);
  }
}

TEST(Fleet, NoiseIsPhiloxOnEveryKernelSet) {
  constexpr std::uint64_t kKey = 0x0123456789abcdef;
  const r123::Philox4x32::key_type key = {
      {static_cast<std::uint32_t>(kKey), static_cast<std::uint32_t>(kKey >> 32)}};
  std::vector<std::uint32_t> words(256);
  for (std::uint32_t counter = 0; counter < 64; ++counter) {
    const auto drawn = r123::Philox4x32{}({{counter, 0, 0, 0}}, key);
    for (std::size_t w = 0; w < 4; ++w) words[counter / 16 * 64 + w * 16 + counter % 16] = drawn[w];
  }
  for (const KernelSet& kernels : kernel_sets())
    for (const std::size_t n : {0, 1, 255, 256, 257, 1000, 1024}) {
      std::vector<std::uint8_t> noise(n + 1, 0x5a);
      kernels.bytes.noise(kKey, n, noise.data());
      EXPECT_EQ(std::memcmp(noise.data(), words.data(), n), 0) << kernels.name << ", " << n;
      EXPECT_EQ(noise[n], 0x5a);
    }
}

TEST(Fleet, RowsAreBlendsWithNoiseAndSpeckles) {
  for (const KernelSet& kernels : kernel_sets())
    for (const std::size_t n : {1, 15, 64, 100, 784})
      for (const unsigned share : {0U, 96U, 200U, 256U}) {
        std::vector<std::uint8_t> mine(n), theirs(n), canvas(n), noise(n);
        kernels.bytes.noise(1, n, mine.data());
        kernels.bytes.noise(2, n, theirs.data());
        kernels.bytes.noise(3, n, noise.data());
        for (std::size_t j = 0; j < n; ++j) {
          canvas[j] = j % 3 == 0 ? 0 : 255;
          if (j % 2 == 0) mine[j] = theirs[j] = 0;
        }
        std::vector<std::uint8_t> row = noise;
        kernels.bytes.blend_into_noise(n, mine.data(), theirs.data(), share, canvas.data(), row.data());
        for (std::size_t j = 0; j < n; ++j) {
          const int value = static_cast<int>(share * mine[j] + (256 - share) * theirs[j]) / 256;
          const int lit = std::clamp(value + noise[j] / 2 - kNoiseReach, 0, 255);
          const int speckle = noise[j] < kSpeckleOdds && canvas[j] != 0 ? kSpeckleStep * noise[j] : 0;
          ASSERT_EQ(row[j], value > 0 ? lit : speckle) << kernels.name << ", " << j;
        }
      }
}

TEST(Fleet, EveryKernelSetMakesTheSameNodes) {
  for (const std::size_t columns : {1, 7, 64, 100, 784}) {
    const FleetRows rows({1, 9, columns}, 5);
    for (const std::uint64_t node : {0, 1, 999999}) {
      const Node expected = make(rows, node);
      for (const KernelSet& kernels : kernel_sets())
        EXPECT_EQ(make(rows, node, kernels), expected) << kernels.name;
    }
  }
}

TEST(Fleet, ANodeDependsOnSeedAndNumberAlone) {
  const FleetRows rows({10, 10, 50}, 1), again({10, 10, 50}, 1), other({10, 10, 50}, 2);
  const Node third = make(rows, 3);
  EXPECT_NE(make(rows, 4), third);
  EXPECT_EQ(make(again, 3), third);
  EXPECT_NE(make(other, 3), third);
  // Asked for fewer, the rows are the first ones.
  Node part;
  part.classes.resize(4);
  part.pixels.resize(200);
  rows.fill<double>(3, part.pixels, part.classes, numbers());
  EXPECT_TRUE(std::equal(part.pixels.begin(), part.pixels.end(), third.pixels.begin()));
  EXPECT_TRUE(std::equal(part.classes.begin(), part.classes.end(), third.classes.begin()));
  EXPECT_NE(rows.digest(10), rows.digest(11));
  EXPECT_NE(rows.digest(10), other.digest(10));
}

TEST(Fleet, SamplesAreDrawnWithinTheirRangeAndClassesAlike) {
  const FleetRows rows({3, 7, 20}, 1);
  std::vector<int> sizes(8);
  std::vector<int> classes(10);
  for (std::uint64_t node = 0; node < 2000; ++node) {
    const Node made = make(rows, node);
    ASSERT_TRUE(made.classes.size() >= 3 && made.classes.size() <= 7);
    ++sizes[made.classes.size()];
    for (const double c : made.classes) ++classes[static_cast<std::size_t>(c)];
  }
  for (std::size_t size = 3; size <= 7; ++size) EXPECT_NEAR(sizes[size], 400, 90);
  for (const int count : classes) EXPECT_NEAR(count, 1000, 150);
}

TEST(Fleet, ReadsItsSkews) {
  const FleetShape shape = parse_fleet("fleet:50x20,alpha=0.3,sigma=1").value();
  EXPECT_EQ(shape.alpha, 0.3);
  EXPECT_EQ(shape.sigma, 1);
  EXPECT_EQ(shape.median, 50U);
  EXPECT_EQ(shape.least, 1U);
  EXPECT_EQ(shape.most, 5000U);
  EXPECT_EQ(parse_fleet("fleet:5-50x20,alpha=2")->most, 50U);
  EXPECT_EQ(parse_fleet("fleet:1000x60000,sigma=2")->most, (1U << 26U) / 60000U);
  for (const char* bad : {"fleet:50x20,", "fleet:50x20,alpha", "fleet:50x20,alpha=0", "fleet:50x20,alpha=-1",
                          "fleet:50x20,alpha=nan", "fleet:50x20,sigma=0", "fleet:50x20,sigma=11",
                          "fleet:50x20,alpha=1,alpha=1", "fleet:5-50x20,sigma=1", "fleet:50x20,beta=1",
                          "fleet:50x20,sigma=1,sigma=1", "fleet:50x20,,sigma=1", "fleet,alpha=1"}) {
    if (!is_fleet(bad)) continue;
    const auto refused = parse_fleet(bad);
    ASSERT_FALSE(refused) << bad;
    EXPECT_EQ(refused.error().code, ErrorCode::kBadConfig);
    EXPECT_FALSE(refused.error().hint.empty());
  }
}

// A node's share of a class is Beta(alpha, 9 alpha), and a row's class is drawn from the shares.
TEST(Fleet, LabelSkewHasTheMomentsOfTheDistribution) {
  constexpr double kAlpha = 0.5, kRows = 100, kClasses = 10;
  constexpr int kNodes = 3000;
  FleetShape shape{100, 100, 4};
  shape.alpha = kAlpha;
  const FleetRows rows(shape, 3);
  double sum = 0, squares = 0;
  for (std::uint64_t node = 0; node < kNodes; ++node) {
    const Node made = make(rows, node);
    const double share = static_cast<double>(std::ranges::count(made.classes, 4.0)) / kRows;
    sum += share;
    squares += share * share;
  }
  const double mean = 1 / kClasses, of_shares = mean * (1 - mean) / (kClasses * kAlpha + 1);
  const double variance = of_shares + (mean * (1 - mean) - of_shares) / kRows;
  EXPECT_NEAR(sum / kNodes, mean, 5 * std::sqrt(variance / kNodes));
  EXPECT_NEAR(squares / kNodes - std::pow(sum / kNodes, 2), variance, 0.15 * variance);
  EXPECT_NE(rows.digest(10), FleetRows({100, 100, 4}, 3).digest(10));
  const Dataset test = rows.test_set(5000);  // of even classes
  for (double c = 0; c < kClasses; ++c)
    EXPECT_NEAR(static_cast<double>(std::ranges::count(test.labels, c)), 500, 110);
}

TEST(Fleet, SizesAreLognormalAroundTheirMedian) {
  const FleetRows rows(parse_fleet("fleet:50x4,sigma=1").value(), 3);
  constexpr int kNodes = 5000;
  double sum = 0, squares = 0;
  int below = 0;
  for (std::uint64_t node = 0; node < kNodes; ++node) {
    const std::size_t size = rows.samples(node);
    ASSERT_TRUE(size >= 1 && size <= 5000);
    const double x = std::log(static_cast<double>(size) / 50);
    below += size < 50 ? 1 : 0;
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / kNodes, 0, 0.06);
  EXPECT_NEAR(squares / kNodes, 1, 0.1);
  EXPECT_NEAR(below, kNodes / 2.0, 200);
}

// The same nodes everywhere and in every version: bytes that a change of the sampling would move.
TEST(Fleet, SkewedNodesAreTheSameEverywhere) {
  const FleetRows rows(parse_fleet("fleet:50x4,alpha=0.3,sigma=1").value(), 42);
  Sha256 digest;
  for (std::uint64_t node = 0; node < 20; ++node) {
    const Node made = make(rows, node);
    digest.update(std::as_bytes(std::span(made.pixels))).update(std::as_bytes(std::span(made.classes)));
  }
  EXPECT_EQ(digest.finish_hex().substr(0, 16), "7b60cc4400aff662");
}

TEST(Fleet, TheTestSetBelongsToNoNode) {
  const FleetRows rows({10, 10, 784}, 1);
  const Dataset test = rows.test_set(20);
  EXPECT_EQ(test.rows, 20U);
  const auto& pixels = std::get<DenseRows<std::uint8_t>>(test.features).values;
  for (std::uint64_t node = 0; node < 50; ++node) {
    const Node made = make(rows, node);
    EXPECT_FALSE(std::equal(made.pixels.begin(), made.pixels.begin() + 784, pixels.begin()));
  }
}

}  // namespace
}  // namespace mfl
