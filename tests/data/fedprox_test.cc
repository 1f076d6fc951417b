#include <cmath>
#include <map>

#include "mfl/data/source.h"
#include "mfl/data/synthetic_fedprox.h"
#include "tests/data/small_files.h"

namespace mfl::test {
namespace {

using ::testing::Each;

const std::vector<double>& values_of(const Dataset& data) {
  return std::get<DenseRows<double>>(data.features).values;
}

std::map<std::uint32_t, std::size_t> counts(const Dataset& data) {
  std::map<std::uint32_t, std::size_t> out;
  for (const std::uint32_t owner : data.groups) ++out[owner];
  return out;
}

TEST(Fedprox, HasTheShapeOfThePaper) {
  const FedproxSets sets = make_fedprox({}, 1);
  EXPECT_EQ(sets.train.columns, 60U);
  const auto train = counts(sets.train), test = counts(sets.test);
  ASSERT_EQ(train.size(), 30U);
  ASSERT_EQ(test.size(), 30U);
  for (const auto& [user, samples] : train) {
    const std::size_t all = samples + test.at(user);
    EXPECT_GE(all, 50U);
    EXPECT_EQ(samples, all * 9 / 10);
  }
  for (const Dataset* data : {&sets.train, &sets.test}) {
    EXPECT_EQ(data->labels.size(), data->rows);
    EXPECT_EQ(data->groups.size(), data->rows);
    EXPECT_EQ(values_of(*data).size(), data->rows * 60);
    EXPECT_THAT(data->labels, Each(::testing::AllOf(::testing::Ge(0), ::testing::Le(9))));
  }
}

// The bits of every machine.
TEST(Fedprox, IsAFunctionOfSeedAndParameters) {
  EXPECT_EQ(data_digest(make_fedprox({}, 1).train),
            "899a949e5ad90ecb6149263e4d221ac9b77f0bf9f429958bb3b7a1abd881a937");
  EXPECT_EQ(data_digest(make_fedprox({0, 0, 5}, 7).test),
            "a60e8d9d0ad1434ab740b39ee81099f24e07c931fb77c8a57a1d057e4c52b974");
  EXPECT_NE(data_digest(make_fedprox({}, 2).train), data_digest(make_fedprox({}, 1).train));
  EXPECT_NE(data_digest(make_fedprox({1, 0.5, 30}, 1).train), data_digest(make_fedprox({}, 1).train));
}

TEST(Fedprox, AUserDoesNotDependOnTheNumberOfUsers) {
  const FedproxSets few = make_fedprox({1, 1, 3}, 4), more = make_fedprox({1, 1, 8}, 4);
  const auto& first = values_of(few.train);
  ASSERT_LT(first.size(), values_of(more.train).size());
  EXPECT_TRUE(std::equal(first.begin(), first.end(), values_of(more.train).begin()));
}

// Sizes: log(samples - 50) is normal with mean 4 and deviation 2, but for rounding down. Features around their centre: variance j^-1.2.
TEST(Fedprox, HasTheDistributionsOfThePaper) {
  const FedproxSets sets = make_fedprox({0, 0, 400}, 3);
  const auto train = counts(sets.train), test = counts(sets.test);
  double below_median = 0, above = 0;
  for (const auto& [user, samples] : train) {
    const double drawn = static_cast<double>(samples + test.at(user)) - 50;
    below_median += drawn < std::exp(4.0) ? 1 : 0;
    above += drawn >= std::exp(6.0) ? 1 : 0;  // one deviation above: 15.9 %
  }
  EXPECT_NEAR(below_median / 400, 0.5, 0.1);
  EXPECT_NEAR(above / 400, 0.159, 0.07);
  for (const std::size_t column : {0U, 1U, 9U, 59U}) {
    std::map<std::uint32_t, double> sum, squares;
    const auto number_of = counts(sets.train);
    for (std::size_t row = 0; row < sets.train.rows; ++row) {
      const double x = values_of(sets.train)[row * 60 + column];
      sum[sets.train.groups[row]] += x;
      squares[sets.train.groups[row]] += x * x;
    }
    double variance = 0;
    for (const auto& [user, n] : number_of) {
      const auto m = static_cast<double>(n);
      variance += (squares[user] - sum[user] * sum[user] / m) / static_cast<double>(sets.train.rows);
    }
    EXPECT_NEAR(variance * std::pow(static_cast<double>(column + 1), 1.2), 1, 0.03);
  }
}

TEST(Fedprox, BetaSpreadsTheFeaturesOfUsers) {
  const auto spread = [](double beta) {
    const FedproxSets sets = make_fedprox({1, beta, 50}, 2);
    std::map<std::uint32_t, double> sum;
    for (std::size_t row = 0; row < sets.train.rows; ++row)
      for (std::size_t j = 0; j < 60; ++j)
        sum[sets.train.groups[row]] += values_of(sets.train)[row * 60 + j] / 60;
    double squares = 0;
    for (const auto& [user, n] : counts(sets.train)) {
      const double mean = sum[user] / static_cast<double>(n);
      squares += mean * mean / 50;
    }
    return squares;
  };
  EXPECT_LT(spread(0), 0.1);
  EXPECT_GT(spread(2), 1);
}

// u is added to all classes alike.
TEST(Fedprox, LabelsDoNotDependOnAlpha) {
  EXPECT_EQ(make_fedprox({0, 1, 10}, 5).train.labels, make_fedprox({1, 1, 10}, 5).train.labels);
}

TEST(Fedprox, SpecsAreParsedAndChecked) {
  DataOptions options;
  options.source = "synthetic-fedprox";
  EXPECT_EQ(data_digest(load(options)->train), data_digest(make_fedprox({1, 1, 30}, 0).train));
  options.source = "synthetic-fedprox(0.5, beta=0.25, users=7)";
  EXPECT_EQ(data_digest(load(options)->train), data_digest(make_fedprox({0.5, 0.25, 7}, 0).train));
  for (const char* bad : {"synthetic-fedprox(-1, 1)", "synthetic-fedprox(1, 1, users=0)",
                          "synthetic-fedprox(1,", "synthetic-fedprox:1x1", "synthetic-fedprox(1, gamma=1)",
                          "synthetic-fedprox(x)", "synthetic-fedprox(1, 1, users=1e9)"}) {
    SCOPED_TRACE(bad);
    options.source = bad;
    expect_error(load(options), ErrorCode::kBadConfig, {"synthetic-fedprox"});
    EXPECT_FALSE(open_rows(options));
  }
  options.source = "synthetic-fedprx(1, 1)";
  expect_error(load(options), ErrorCode::kBadConfig, {"synthetic-fedprx"});
}

TEST(Fedprox, LoadsWithOwnersOfTheRowsTaken) {
  DataOptions options;
  options.source = "synthetic-fedprox(1, 1, users=4)";
  options.seed = 9;
  const auto all = load(options);
  ASSERT_TRUE(all) << all.error().text();
  EXPECT_EQ(counts(all->train).size(), 4U);
  EXPECT_EQ(counts(*all->test).size(), 4U);
  const auto rows = open_rows(options);
  ASSERT_TRUE(rows) << rows.error().text();
  EXPECT_EQ(rows->train.digest().value(), data_digest(all->train));
  EXPECT_EQ(rows->train.without_features().groups, all->train.groups);
  options.train = 40;
  options.test = 5;
  options.take = Take::kRandom;
  const auto some = load(options);
  ASSERT_TRUE(some) << some.error().text();
  EXPECT_EQ(some->train.groups.size(), 40U);
  EXPECT_EQ(open_rows(options)->train.without_features().groups, some->train.groups);
}

}  // namespace
}  // namespace mfl::test
