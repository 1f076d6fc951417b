#include "mfl/federation/claims.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "mfl/base/rng.h"
#include "mfl/data/source.h"
#include "mfl/partition/partitions.h"

namespace mfl {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Nodes = std::map<std::string, ColumnMoments>;

std::vector<Outlier> outliers_of(const Nodes& nodes, const Schema& schema = {}) {
  std::map<std::string, const ColumnMoments*> pointers;
  for (const auto& [name, moments] : nodes) pointers[name] = &moments;
  return column_outliers(pointers, schema);
}

ColumnMoments moments_of(const Dataset& rows) {
  ColumnSums sums(rows.columns, 0);
  EXPECT_TRUE(sums.add(rows, {}));
  EXPECT_TRUE(sums.check());
  return sums.moments();
}

// Columns of a clinic: area, a share, a number that is positive at some only, and one around 0.
const ColumnMoments kClinic{{650, 0.1, 0.02, 0.01}, {350, 0.015, 0.14, 1}};

Nodes clinics(std::size_t count) {
  Nodes out;
  for (std::size_t i = 0; i < count; ++i) {
    ColumnMoments& one = out["clinic-" + std::to_string(i)] = kClinic;
    for (double& mean : one.means) mean *= 1 + 0.1 * static_cast<double>(i);
    for (double& deviation : one.deviations) deviation *= 1 - 0.05 * static_cast<double>(i);
  }
  return out;
}

TEST(Claims, AnotherUnitIsNamedWithNodeColumnAndNumbers) {
  Schema schema;
  schema.features = {"mean_area", "smoothness", "rare", "balance"};
  for (const std::size_t count : {3U, 4U, 8U}) {
    EXPECT_THAT(outliers_of(clinics(count), schema), IsEmpty());
    for (const double factor : {1000.0, 0.001}) {
      Nodes nodes = clinics(count);
      nodes["clinic-1"].means[0] *= factor;
      nodes["clinic-1"].deviations[0] *= factor;
      const auto found = outliers_of(nodes, schema);
      ASSERT_EQ(found.size(), 1U) << count << ' ' << factor;
      EXPECT_EQ(found[0].node, "clinic-1");
      EXPECT_THAT(found[0].text, AllOf(HasSubstr("mean_area"), HasSubstr("clinic-1"), HasSubstr("unit")));
    }
  }
}

// Sums with which one node would decide means and deviations of all.
TEST(Claims, LyingSumsAreOutliers) {
  const std::pair<double, double> lies[] = {{0, 3e7},   {1e12, 1},     {-1e12, 1}, {1e12, 1e12},
                                            {650, 1e5}, {1e300, 1e10}, {-1e7, 0},  {1e154, 1e154}};
  for (const auto& [mean, deviation] : lies)
    for (const std::size_t column : {0U, 1U, 2U, 3U}) {
      Nodes nodes = clinics(4);
      nodes["clinic-0"].means[column] = mean;
      nodes["clinic-0"].deviations[column] = deviation;
      const auto found = outliers_of(nodes);
      ASSERT_EQ(found.size(), 1U) << mean << ' ' << deviation << ' ' << column;
      EXPECT_EQ(found[0].node, "clinic-0");
    }
}

TEST(Claims, OfTwoNodesBothAreNamed) {
  Nodes nodes = clinics(2);
  EXPECT_THAT(outliers_of(nodes), IsEmpty());
  nodes["clinic-1"].means[0] *= 1000;
  nodes["clinic-1"].deviations[0] *= 1000;
  EXPECT_THAT(outliers_of(nodes), IsEmpty()) << "below a factor of 10,000";
  nodes["clinic-1"].deviations[0] *= 1000;
  const auto found = outliers_of(nodes);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].node, "");
  EXPECT_THAT(found[0].text, AllOf(HasSubstr("clinic-0 and clinic-1 differ"), HasSubstr("number 1")));
}

TEST(Claims, ColumnsThatAreConstantAtMostNodesAreMeasuredByTheOthers) {
  Nodes nodes = clinics(4);
  for (auto& [name, moments] : nodes) moments.means[2] = moments.deviations[2] = 0;
  EXPECT_THAT(outliers_of(nodes), IsEmpty());
  nodes["clinic-3"].deviations[2] = 0.5;  // one site has the rare case
  EXPECT_THAT(outliers_of(nodes), IsEmpty());
  nodes["clinic-3"].deviations[2] = 1e6;
  EXPECT_EQ(outliers_of(nodes).size(), 1U);
}

TEST(Claims, NumbersFarFromTheirMedianAreOutliers) {
  const auto names = [](const std::map<std::string, double>& numbers) {
    std::vector<std::string> out;
    for (const Outlier& outlier : number_outliers(numbers, "smoothness")) out.push_back(outlier.node);
    return out;
  };
  EXPECT_THAT(names({{"a", 1}, {"b", 99}, {"c", 0.02}}), IsEmpty());
  EXPECT_THAT(names({{"a", 1e300}, {"b", 3}, {"c", 4}}), ::testing::ElementsAre("a"));
  EXPECT_THAT(names({{"a", 0}, {"b", 3}, {"c", 4}}), ::testing::ElementsAre("a"));
  EXPECT_THAT(names({{"a", 0}, {"b", 0}, {"c", 3e38}}), ::testing::ElementsAre("c"));
  EXPECT_THAT(names({{"a", 0}, {"b", 0}, {"c", 0}}), IsEmpty());
  EXPECT_THAT(names({{"a", 1}, {"b", 1e5}}), ::testing::ElementsAre(""));
  EXPECT_THAT(names({{"a", 1e300}}), IsEmpty()) << "nobody to compare with";
}

TEST(Claims, ANewcomerIsComparedWithWhatIsSettled) {
  const Preprocessing settled{
      .standardise = Standardise::kFull, .means = kClinic.means, .deviations = kClinic.deviations};
  EXPECT_FALSE(late_outlier("late", clinics(8).at("clinic-7"), settled, {}));
  ColumnMoments far = kClinic;
  far.means[0] *= 1000;
  EXPECT_THAT(late_outlier("late", far, settled, {}).value_or(""), HasSubstr("column number 1 of late"));
}

// No node of an honest federation may be an outlier, however its labels differ from the others'.
void expect_none(const Dataset& data, const std::string& what) {
  for (const std::size_t count : {3U, 4U, 8U})
    for (const char* partition : {"iid", "label-sorted", "dirichlet(0.1)", "pathological(1)"})
      for (const std::uint64_t seed : {1U, 2U, 3U}) {
        const auto parts = make_partition(partition, {data.labels, count, seed});
        if (!parts) continue;  // fewer classes than nodes
        Nodes nodes;
        for (std::size_t i = 0; i < count; ++i) {
          const std::span<const std::uint32_t> rows(parts->order.data() + parts->starts[i],
                                                    parts->starts[i + 1] - parts->starts[i]);
          if (!rows.empty()) nodes["n" + std::to_string(i)] = moments_of(take_rows(data, rows));
        }
        for (const Outlier& found : outliers_of(nodes))
          ADD_FAILURE() << what << ", " << partition << ", " << count << " nodes, seed " << seed << ": "
                        << found.text;
      }
}

// Strokes of ten classes on 28 x 28 bytes, most of which are 0; near the edges few samples have a faint one.
Dataset strokes(std::size_t rows) {
  constexpr std::size_t kSide = 28;
  Stream draw(7, Purpose::kPartition);
  Dataset out;
  out.rows = rows;
  out.columns = kSide * kSide;
  out.scale = 1.0 / 255;
  std::vector<std::uint8_t> bytes;
  for (std::size_t r = 0; r < rows; ++r) {
    const std::size_t digit = r % 10;
    const double angle = 0.3 * static_cast<double>(digit) + 0.2 * draw.normal();
    const double x = 14 + 1.5 * draw.normal(), y = 14 + 1.5 * draw.normal();
    const double curve = 0.03 * (static_cast<double>(digit) - 5),
                 thick = 1 + 0.2 * static_cast<double>(digit % 3);
    for (std::size_t p = 0; p < out.columns; ++p) {
      const double u = static_cast<double>(p % kSide) - x, v = static_cast<double>(p / kSide) - y;
      const double along = u * std::cos(angle) + v * std::sin(angle);
      const double across = v * std::cos(angle) - u * std::sin(angle) - curve * along * along;
      const double ink = std::abs(along) > 9 ? 0 : 255 * std::exp(-across * across / thick);
      bytes.push_back(static_cast<std::uint8_t>(std::clamp(ink, 0.0, 255.0)));
    }
    out.labels.push_back(static_cast<double>(digit));
  }
  out.features = DenseRows<std::uint8_t>{std::move(bytes)};
  return out;
}

TEST(Claims, HonestSplitsOfImagesHaveNoOutlier) {
  for (const std::size_t rows : {100U, 1'000U}) expect_none(strokes(rows), std::to_string(rows) + " strokes");
}

TEST(Claims, HonestSplitsOfMnistHaveNoOutlier) {
  for (const std::size_t rows : {300U, 5'000U}) {
    DataOptions options;
    options.train = rows;
    options.test = 0;
    const auto mnist = load(options);
    ASSERT_TRUE(mnist) << mnist.error().text();
    expect_none(mnist->train, std::to_string(rows) + " of MNIST");
  }
}

}  // namespace
}  // namespace mfl
