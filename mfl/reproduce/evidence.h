// What the runs of the paper's experiments showed, as plain values. Figures, claims and costs are functions
// of it.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace mfl {

// The end of a round; round 0 is the start. Bytes are those of all nodes so far.
struct RoundEvidence {
  std::uint64_t step = 0, round = 0;
  double loss = 0;
  std::uint64_t bytes_up = 0, bytes_down = 0;
};

struct AccuracyEvidence {
  std::uint64_t step = 0;
  double accuracy = 0;  // a share of 1
};

struct RunEvidence {
  std::string model, algorithm;
  double gamma = 0;       // 0 where the algorithm has none
  std::uint64_t tau = 0;  // 0 where the algorithm has none
  std::uint64_t steps = 0, seed = 0;
  bool diverged = false;
  std::vector<RoundEvidence> rounds;       // by step; empty for runs that only count by their end
  std::vector<AccuracyEvidence> accuracy;  // by step
  double start_loss = 0, final_loss = 0;
  std::optional<double> final_accuracy;
  std::uint64_t bytes_up = 0, bytes_down = 0;
  std::string id, digest;  // the id of the run in the store, the digest of its weights
};

struct Evidence {
  // The settings that the paper names: gamma and tau of figure 4, T of figures 4 and 5, T of figure 6's third
  // curve.
  double gamma = 0;
  std::uint64_t tau = 0, steps = 0;
  std::uint64_t long_steps = 0;  // 0: not run
  std::vector<RunEvidence> runs;
  // The panels that were asked for; empty: all. A run may be in several, and one panel's runs are not all of
  // another's.
  std::set<std::string> figures = {};
};

// Whether a figure, "4a" or a whole number such as "4", was asked for.
bool asked_for(const Evidence& evidence, std::string_view figure);

// What is absent matches everything.
struct RunQuery {
  std::string_view model, algorithm;
  std::optional<double> gamma = {};
  std::optional<std::uint64_t> tau = {}, steps = {}, seed = {};
};

// In order of seed, then gamma, then tau. Valid as long as `evidence`.
std::vector<const RunEvidence*> select(const Evidence& evidence, const RunQuery& query);

// FL, MFL with gamma and tau of figure 4, MGD with that gamma, GD: over T of figure 4.
RunQuery figure_4_query(const Evidence& evidence, std::string_view model, std::string_view algorithm);

// The different values among the runs of a query, ascending.
std::vector<double> gammas_of(const Evidence& evidence, const RunQuery& query);
std::vector<std::uint64_t> taus_of(const Evidence& evidence, const RunQuery& query);
std::vector<std::uint64_t> seeds_of(const Evidence& evidence);

// The mean of the final losses; absent when there is no run, infinite when one diverged.
std::optional<double> mean_final_loss(const std::vector<const RunEvidence*>& runs);

// The first round at or below the target.
std::optional<RoundEvidence> first_at(const RunEvidence& run, double target);

}  // namespace mfl
