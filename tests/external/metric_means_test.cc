#include "mfl/aggregate/metric_means.h"

#include <gtest/gtest.h>

#include <cmath>

namespace mfl {
namespace {

TEST(MetricMeans, WeighBySamplesAndTestMetricsByTestSamples) {
  MetricMeans means;
  means.add({{"test_accuracy", 1.0}, {"test_samples", 10}, {"f1", 0.5}}, 300);
  means.add({{"test_accuracy", 0.0}, {"test_samples", 30}, {"f1", 1.0}, {"own", 3}}, 100);
  const Metrics all = means.means();
  EXPECT_EQ(all.at("test_accuracy"), 0.25);
  EXPECT_EQ(all.at("test_samples"), 40);
  EXPECT_EQ(all.at("f1"), 0.625);
  EXPECT_EQ(all.count("own"), 0U);
}

TEST(MetricMeans, DoNotDependOnTheOrder) {
  MetricMeans a, b;
  for (int i = 0; i < 50; ++i) a.add({{"x", std::sin(i) * std::pow(10, i % 9)}}, 1 + i % 7);
  for (int i = 49; i >= 0; --i) b.add({{"x", std::sin(i) * std::pow(10, i % 9)}}, 1 + i % 7);
  EXPECT_EQ(a.means(), b.means());
}

TEST(MetricMeans, LeaveOutWhatIsNotFinite) {
  MetricMeans means;
  means.add({{"x", NAN}, {"y", 1}}, 1);
  means.add({{"x", 1}, {"y", 2}}, 1);
  EXPECT_EQ(means.means(), (Metrics{{"y", 1.5}}));
  EXPECT_TRUE(MetricMeans().means().empty());
}

}  // namespace
}  // namespace mfl
