// A recommendation of eta, gamma and tau for a budget, from the bounds and from short trial runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mfl/advise/pilot.h"
#include "mfl/base/result.h"
#include "mfl/config/config.h"
#include "mfl/run/runner.h"

namespace mfl {

struct AdviseOptions {
  // One of the two. Bytes count both directions; a round of FL takes half as many as one of MFL.
  std::optional<std::uint64_t> rounds, bytes;
  std::uint64_t most_tau = 64;       // local steps that a node may take in a round
  std::uint64_t pilot_rounds = 100;  // length of the longest trial; the rest is extrapolated
};

// From the constants of the data and from bounds.
struct TheoryAdvice {
  double beta = 0, mu = 0, least_loss = 0, delta = 0;
  double bounded_eta = 0;  // 1 / beta: below it the bounds hold
  // The setting with the lowest bound of Proposition 2 among those looked at.
  PilotSetting setting;
  std::uint64_t rounds = 0;
  double bound = 0;  // on F(w^f) - F*
};

struct PilotAdvice {
  PilotSetting setting;
  std::uint64_t rounds = 0;        // that the budget allows
  double stable_eta = 0;           // 2 (1 + gamma) / beta for its gamma
  double expected_loss = 0;        // after those rounds
  bool extrapolated = false;       // the trial runs were shorter
  std::uint64_t trial_rounds = 0;  // length of the longest
  std::uint64_t settings = 0;      // how many were tried
  std::vector<double> losses;      // of its trial, round by round
};

struct Advice {
  Config config;  // as asked, with the advice in it: runs as `mfl run`
  std::optional<TheoryAdvice> theory;
  std::string without_theory;  // why there is none: a clause
  PilotAdvice pilot;
  double load_seconds = 0, wall_seconds = 0;
};

// Of the configuration, data, federation, model, precision and where to run count. kBadConfig for a centralised
// algorithm, a trainer's model or a budget that does not cover one round; kRunFailed when stopped or when every trial diverged.
Result<Advice> advise_experiment(const Config& config, const AdviseOptions& options, const RunHooks& hooks);

}  // namespace mfl
