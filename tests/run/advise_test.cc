// The advice against a dense grid: what it costs in rounds to follow it rather than the best of the grid.
#include "mfl/advise/advise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "mfl/base/files.h"
#include "mfl/base/rng.h"
#include "mfl/config/entries.h"
#include "mfl/load/problem.h"
#include "mfl/theory/curvature.h"
#include "mfl/theory/optimum.h"

namespace mfl {
namespace {

struct Case {
  const char* name;
  Config config;
  std::uint64_t most_tau;
  double gap;  // to reach, as a share of F(w(0)) - F*
};

class Advise : public ::testing::Test {
 protected:
  void SetUp() override { folder_.emplace(*TempFolder::make()); }

  static Config base(const std::string& source, const std::string& model, const std::string& partition) {
    Config config;
    config.data.source = source;
    config.data.test = 0;
    config.model.name = model;
    config.model.intercept = false;  // which the paper's bounds do not know
    config.federation.partition = partition;
    config.run.precision = Precision::kF64;
    return config;
  }

  // Points whose features differ in size by a factor of thirty, with a noisy linear target.
  std::string uneven_csv() const {
    const auto path = folder_->path() / "uneven.csv";
    std::ofstream out(path);
    Stream stream(4, Purpose::kSynthetic);
    for (int r = 0; r < 240; ++r) {
      double target = 0.1 * stream.normal();
      for (int j = 0; j < 8; ++j) {
        const double x = stream.normal() * std::pow(0.6, j) + (r < 60 ? 0.2 : 0);
        target += x * (j % 2 == 0 ? 1 : -1) / std::pow(0.6, j);
        out << x << ',';
      }
      out << target << '\n';
    }
    return "csv:" + path.string();
  }

  std::vector<Case> cases() const {
    Config sorted = base("synthetic:240x16", "squared-svm", "label-sorted");
    sorted.model.lambda = 0.002;
    return {{"balanced", base("synthetic:240x20", "logistic", "iid"), 2, 2e-4},
            {"sorted by label", sorted, 4, 1e-3},
            {"uneven features", base(uneven_csv(), "linear", "contiguous"), 4, 1e-4}};
  }

  RunOutcome run(Config config, std::uint64_t rounds) const {
    config.run.steps = rounds * round_length(config.algorithm);
    const auto outcome = run_experiment(config, {folder_->path() / "runs.db", {}, false, {}}, {});
    if (!outcome) {
      ADD_FAILURE() << outcome.error().text();
      return {};
    }
    return *outcome;
  }

  std::optional<TempFolder> folder_;
};

std::vector<PilotRun> dense_grid(double beta, std::uint64_t most_tau, std::uint64_t rounds) {
  std::vector<PilotRun> runs;
  for (const double gamma :
       {0.0, 0.2, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.93, 0.95, 0.97, 0.98, 0.99})
    for (const double share :
         {0.01, 0.02, 0.04, 0.07, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.98})
      for (const std::uint64_t tau : {1, 2, 3, 4, 6, 8, 12, 16, 24, 32})
        if (tau <= most_tau) runs.push_back({{share * 2 * (1 + gamma) / beta, gamma, tau}, rounds, {}});
  return runs;
}

// The first round after which the loss is at most the target.
std::optional<std::uint64_t> rounds_to(double target, const PilotRun& run) {
  const auto found = std::ranges::find_if(run.losses, [&](double loss) { return loss <= target; });
  if (found == run.losses.end()) return std::nullopt;
  return static_cast<std::uint64_t>(found - run.losses.begin()) + 1;
}

TEST_F(Advise, IsWithinATenthOfTheBestOfADenseGrid) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    const auto problem = load_problem<double>(Experiment(c.config)).value();
    const Objective objective{*entry_of(c.config.model).loss, effective_lambda(c.config.model)};
    const auto curvature =
        measure_curvature(objective, problem.federation.train, problem.federation.nodes).value().value();
    const double least = find_optimum(objective, problem.federation.train).loss;
    const double start = evaluate(objective, problem.federation.train, {0, problem.federation.train.size()},
                                  Vector<double>(problem.federation.train.columns()))
                             .loss;
    const double target = least + c.gap * (start - least);

    std::vector<PilotRun> grid = dense_grid(curvature.beta, c.most_tau, 120);
    ASSERT_TRUE(run_pilots<double>(problem.federation, objective.lambda, c.config.run, grid, nullptr));
    std::uint64_t best_rounds = 1000;
    for (const PilotRun& pilot : grid)
      best_rounds = std::min(best_rounds, rounds_to(target, pilot).value_or(1000));
    EXPECT_LE(best_rounds, 100U);
    EXPECT_GE(best_rounds, 20U) << "or a tenth would be less than two rounds";

    AdviseOptions options;
    options.rounds = best_rounds;
    options.most_tau = c.most_tau;
    const auto advice = advise_experiment(c.config, options, {});
    ASSERT_TRUE(advice) << advice.error().text();
    EXPECT_DOUBLE_EQ(advice->theory->beta, curvature.beta);
    const auto allowed = static_cast<std::uint64_t>(1.1 * static_cast<double>(best_rounds));
    EXPECT_LE(run(advice->config, allowed).best_train_loss, target)
        << "best of the grid " << best_rounds << ", advised eta " << *advice->config.algorithm.eta
        << " gamma " << advice->config.algorithm.gamma << " tau " << round_length(advice->config.algorithm);
    // A setting that somebody might have taken without advice is far from that.
    Config plain = c.config;
    plain.algorithm = {"mfl", 0.5 / curvature.beta, 0.5, 2};
    EXPECT_GT(run(plain, allowed).best_train_loss, target);
  }
}

TEST_F(Advise, TheExpectedLossIsThatOfTheRun) {
  const Config config = base("synthetic:240x20", "logistic", "iid");
  AdviseOptions options;
  options.rounds = 20;
  const auto advice = advise_experiment(config, options, {}).value();
  EXPECT_EQ(run(advice.config, 20).best_train_loss, advice.pilot.expected_loss);
  EXPECT_EQ(advice.pilot.losses.size(), 20U);
  EXPECT_LT(advice.config.algorithm.eta, advice.pilot.stable_eta);
  EXPECT_GT(advice.pilot.expected_loss, advice.theory->least_loss);
}

TEST_F(Advise, ShortTrialsAreExtrapolatedNearTheTruth) {
  const Config config = base("synthetic:240x16", "squared-svm", "iid");
  AdviseOptions options;
  options.rounds = 60;
  options.pilot_rounds = 20;
  options.most_tau = 1;
  const auto advice = advise_experiment(config, options, {}).value();
  EXPECT_TRUE(advice.pilot.extrapolated);
  EXPECT_EQ(advice.pilot.trial_rounds, 20U);
  const double least = advice.theory->least_loss;
  const double reached = *run(advice.config, 60).best_train_loss - least;
  EXPECT_LT(std::abs(advice.pilot.expected_loss - least - reached),
            1e-3 * (advice.pilot.losses.front() - least));
}

TEST_F(Advise, BytesBuyTwiceTheRoundsWithoutMomentum) {
  const Config config = base("synthetic:240x20", "logistic", "iid");
  AdviseOptions options;
  options.bytes = 20ULL * 4 * 2 * 2 * 20 * 8;  // 20 rounds of mfl: 4 nodes, up and down, w and d, 20 doubles
  const auto advice = advise_experiment(config, options, {}).value();
  EXPECT_EQ(advice.pilot.rounds, advice.pilot.setting.gamma == 0 ? 40U : 20U);
  EXPECT_EQ(advice.theory->rounds, advice.theory->setting.gamma == 0 ? 40U : 20U);
  const RunOutcome outcome = run(advice.config, advice.pilot.rounds);
  EXPECT_EQ(outcome.bytes_up + outcome.bytes_down, *options.bytes);
}

TEST_F(Advise, TheHingeGetsTrialsAlone) {
  AdviseOptions options;
  options.rounds = 10;
  const auto advice = advise_experiment(base("synthetic:240x20", "svm", "iid"), options, {}).value();
  EXPECT_FALSE(advice.theory);
  EXPECT_LT(advice.pilot.expected_loss, 0.5);
}

TEST_F(Advise, BadBudgetsAreRefused) {
  const Config config = base("synthetic:240x20", "logistic", "iid");
  EXPECT_EQ(advise_experiment(config, {}, {}).error().code, ErrorCode::kBadConfig);
  AdviseOptions both;
  both.rounds = 1;
  both.bytes = 1;
  EXPECT_EQ(advise_experiment(config, both, {}).error().code, ErrorCode::kBadConfig);
  AdviseOptions few;
  few.bytes = 100;
  EXPECT_EQ(advise_experiment(config, few, {}).error().code, ErrorCode::kBadConfig);
  Config centralised = config;
  centralised.algorithm.name = "mgd";
  AdviseOptions rounds;
  rounds.rounds = 5;
  EXPECT_EQ(advise_experiment(centralised, rounds, {}).error().code, ErrorCode::kBadConfig);
}

}  // namespace
}  // namespace mfl
