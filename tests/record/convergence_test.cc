// Which endings of a run are warned of, from its rounds alone.
#include "mfl/record/convergence.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "tests/record/support.h"

namespace mfl::test {
namespace {

std::vector<RoundRow> with_losses(std::size_t count, const std::function<double(double)>& loss) {
  std::vector<RoundRow> rows;
  for (std::uint64_t r = 0; r <= count; ++r)
    rows.push_back({r, 4 * r, loss(static_cast<double>(r) / static_cast<double>(count)), 0, 0, ""});
  return rows;
}

std::string ids(const std::vector<RoundRow>& rows, bool sampled = false,
                RunStatus status = RunStatus::kDone) {
  std::string out;
  for (const RunWarning& warning : convergence_warnings(rows, status, sampled)) {
    EXPECT_FALSE(warning.message.empty());
    EXPECT_FALSE(warning.hint.empty());
    EXPECT_EQ(warning.step, rows.back().step);
    out += (out.empty() ? "" : " ") + warning.id;
  }
  return out;
}

// x is how much of the run is over.
double settled(double x) { return 0.2 + 0.5 * std::exp(-8 * x); }

TEST(Convergence, DoesNotWarnOfASettledRun) {
  for (const std::size_t rounds : {1U, 5U, 20U, 21U, 50U, 250U, 5000U}) {
    EXPECT_EQ(ids(with_losses(rounds, settled)), "") << rounds;
    EXPECT_EQ(ids(with_losses(rounds, [](double) { return 0.5; })), "") << rounds;
    EXPECT_EQ(ids(with_losses(rounds, [](double) { return 0.0; })), "") << rounds;
  }
}

TEST(Convergence, DoesNotWarnOfDecayingWavesOrPowerLawTails) {
  EXPECT_EQ(ids(with_losses(
                250, [](double x) { return 0.2 + 0.5 * std::exp(-20 * x) * std::pow(std::cos(45 * x), 2); })),
            "");
  EXPECT_EQ(ids(with_losses(250, [](double x) { return 0.69 / (1 + 40 * x); })), "");
  EXPECT_EQ(ids(with_losses(250, [](double x) { return 0.69 * std::exp(-30 * x); })),
            "");  // towards 0, for ever
}

TEST(Convergence, DoesNotWarnOfWavesInTheLastDigitsOfATinyLoss) {
  EXPECT_EQ(ids(with_losses(
                200, [](double x) { return 0.5 * std::exp(-60 * x) + 1e-12 * (2 + std::sin(1000 * x)); })),
            "");
}

TEST(Convergence, ALossThatIsNotFiniteIsTheOnlyWarning) {
  auto rows = with_losses(30, settled);
  rows[12].train_loss = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(ids(rows), "not_finite");
  EXPECT_NE(convergence_warnings(rows, RunStatus::kDone, false)[0].message.find("step 48"),
            std::string::npos);
  EXPECT_EQ(ids(with_losses(2, settled), false, RunStatus::kDiverged), "not_finite");
  EXPECT_TRUE(convergence_warnings({}, RunStatus::kDiverged, false).empty());
}

TEST(Convergence, WarnsOfAnEndAboveTheStartAfterAnyNumberOfRounds) {
  EXPECT_EQ(ids(with_losses(1, [](double x) { return 0.69 + x; })), "above_start");
  EXPECT_EQ(ids(with_losses(250, [](double x) { return 0.69 + 3 * std::min(x, 0.2); })), "above_start");
  EXPECT_EQ(ids(with_losses(250, [](double x) { return 0.69 * (1 + 1e-5 * x); })), "");  // rounding
}

TEST(Convergence, WarnsOfRawFeaturesThatMakeTheLossJump) {
  // Seen: 4.6, 64 and 4.6 again within the last 200 of 1000 steps, from 0.69.
  EXPECT_EQ(ids(with_losses(250, [](double x) { return x == 0 ? 0.69 : 34.3 + 29.7 * std::sin(60 * x); })),
            "above_start oscillating");
  EXPECT_EQ(ids(with_losses(250, [](double x) { return 0.4 - 0.2 * x + 0.1 * std::sin(200 * x); })),
            "oscillating");
}

TEST(Convergence, WarnsOfALossThatRisesAtTheEnd) {
  EXPECT_EQ(ids(with_losses(100, [](double x) { return settled(x) + std::max(0.0, x - 0.8) * 0.1; })),
            "rising");
  // It came to rest, but far above where it has been.
  EXPECT_EQ(
      ids(with_losses(100, [](double x) { return 0.3 + 0.2 * std::exp(-50 * x) - 0.15 * std::exp(-9 * x); })),
      "rising");
}

TEST(Convergence, WarnsOfALossThatStillFallsFastAtTheEnd) {
  const auto rows = with_losses(250, [](double x) { return 0.69 - 0.04 * x; });
  EXPECT_EQ(ids(rows), "still_falling");
  EXPECT_EQ(ids(rows, false, RunStatus::kInterrupted), "");
  EXPECT_EQ(ids(with_losses(20, [](double x) { return 0.69 - 0.04 * x; })), "still_falling");
  EXPECT_EQ(ids(with_losses(19, [](double x) { return 0.69 - 0.04 * x; })), "");  // too few to tell
}

// Losses of a few of the nodes: the same curve with noise on it.
std::vector<RoundRow> noisy(std::uint32_t seed, double deviation, const std::function<double(double)>& loss) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> noise(0, deviation);
  return with_losses(250, [&](double x) { return x == 0 ? loss(0) : loss(x) + noise(generator); });
}

TEST(Convergence, DoesNotWarnOfTheNoiseOfAFewNodes) {
  for (std::uint32_t seed = 1; seed <= 200; ++seed)
    for (const double deviation : {0.001, 0.01, 0.05})
      EXPECT_EQ(ids(noisy(seed, deviation, settled), true), "") << seed << " " << deviation;
}

TEST(Convergence, WarnsOfATrendAboveTheNoise) {
  int falling = 0, rising = 0, above = 0;
  for (std::uint32_t seed = 1; seed <= 100; ++seed) {
    falling += ids(noisy(seed, 0.01, [](double x) { return 0.69 - 0.3 * x; }), true) == "still_falling";
    rising += ids(noisy(seed, 0.01, [](double x) { return settled(x) + std::max(0.0, x - 0.5); }), true) ==
              "rising";
    above += ids(noisy(seed, 0.05, [](double x) { return 0.5 + 0.3 * std::min(1.0, 9 * x); }), true) ==
             "above_start";
  }
  EXPECT_GE(falling, 95);
  EXPECT_GE(rising, 95);
  EXPECT_GE(above, 95);
}

TEST(Convergence, TheStoreJudgesAFinishedRunAndForgetsWhenItResumes) {
  const Home home;
  Store store = Store::open(home.store).value();
  const std::string id = store.create_run(spec()).value();
  const auto rows = with_losses(250, [](double x) { return 0.69 - 0.04 * x; });
  ASSERT_TRUE(store.append(id, rows, {}, Checkpoint{100, "state", 0}));
  EXPECT_TRUE(store.get(id).value().warnings.empty());
  ASSERT_TRUE(store.finish(id, RunStatus::kDone, "", summary(), 1));
  const RunRow run = store.get(id).value();
  EXPECT_EQ(run.warnings, convergence_warnings(rows, RunStatus::kDone, false));
  ASSERT_EQ(run.warnings.size(), 1U);
  EXPECT_EQ(store.list().value().front().warnings, run.warnings);
  EXPECT_EQ(store.find_done("c0", "d0", "0.1.0").value()->warnings, run.warnings);
  ASSERT_TRUE(store.set_status(id, RunStatus::kInterrupted, ""));
  ASSERT_TRUE(store.rewind(id, 100));
  EXPECT_TRUE(store.get(id).value().warnings.empty());
}

TEST(Convergence, TheStoreKnowsWhichLossesAreSampled) {
  const Home home;
  Store store = Store::open(home.store).value();
  RunSpec sampled = spec();
  sampled.sampled = true;
  const auto rows = noisy(1, 0.05, settled);
  std::vector<std::string> judged;
  for (const RunSpec& one : {sampled, spec()}) {
    const std::string id = store.create_run(one).value();
    ASSERT_TRUE(store.append(id, rows, {}));
    ASSERT_TRUE(store.finish(id, RunStatus::kDone, "", summary(), 1));
    const RunRow run = store.get(id).value();
    EXPECT_EQ(run.sampled, one.sampled);
    judged.push_back(run.warnings.empty() ? "" : run.warnings.front().id);
  }
  EXPECT_EQ(judged, (std::vector<std::string>{"", "oscillating"}));
}

// As of a run in minibatches: F(w) in every fifth round, from a loss over batches that is lower by a half.
std::vector<RoundRow> in_batches(std::size_t count, const std::function<double(double)>& loss,
                                 std::uint64_t every = 5) {
  std::vector<RoundRow> rows = with_losses(count, loss);
  for (RoundRow& row : rows) {
    if (row.round > 0) row.batch_loss = *row.train_loss / 2;
    if (row.round % every != 0 && row.round != count) row.train_loss.reset();
  }
  return rows;
}

TEST(Convergence, LossesOfTwoKindsAreNotCompared) {
  for (const std::size_t rounds : {20U, 99U, 250U}) {
    EXPECT_EQ(ids(in_batches(rounds, settled)), "") << rounds;
    EXPECT_EQ(ids(in_batches(rounds, settled, 1'000'000)), "")
        << rounds << ": F(w) of the first and the last State alone";
  }
}

TEST(Convergence, AWarningNamesItsLoss) {
  const auto rises = [](double x) { return x < 0.8 ? settled(x) : settled(x) + 0.5 * (x - 0.8); };
  const auto said = convergence_warnings(in_batches(250, rises), RunStatus::kDone, false);
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(said[0].id, "rising");
  EXPECT_EQ(said[0].message.find("the train loss rose by"), 0U) << said[0].message;
  const auto of_batches = convergence_warnings(in_batches(250, rises, 100), RunStatus::kDone, false);
  ASSERT_EQ(of_batches.size(), 1U);
  EXPECT_EQ(of_batches[0].message.find("the batch loss rose by"), 0U) << of_batches[0].message;
}

TEST(Convergence, TheNoiseOfMinibatchesIsNoRise) {
  constexpr std::uint32_t kSeeds = 200;
  std::size_t warned = 0;
  for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
    std::mt19937 draws(seed);
    std::normal_distribution<double> noise(0, 0.03);
    warned += ids(in_batches(250, [&](double x) { return settled(x) + noise(draws); })).empty() ? 0 : 1;
  }
  EXPECT_LE(warned, kSeeds / 50) << "of " << kSeeds << " seeds from 0 on";
}

}  // namespace
}  // namespace mfl::test
