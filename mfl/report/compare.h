// What `mfl runs compare` prints, and the table at the end of run.sh. Reads the store only.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mfl/base/json.h"
#include "mfl/base/result.h"
#include "mfl/record/run.h"
#include "mfl/record/store.h"

namespace mfl {

struct CompareOptions {
  // The training loss to reach. Absent: in each group of runs with the same model and problem, the final
  // training loss of the first run of the baseline algorithm, where it is finite; smoothed where it is sampled.
  std::optional<double> target = {};
  std::string baseline = "fl";
};

// What the training losses of a run's rounds are over.
struct RecordedLosses {
  bool batches = false;  // the mean over a round's batches, else all samples
  std::uint64_t evaluate_every =
      0;  // with batches: rounds between losses over all samples; 0: only that of the end

  // Of the state after `round` rounds; `ended` where the run is done and has no more of them.
  bool over_samples(std::uint64_t round, bool ended) const {
    return !batches || ended || (evaluate_every != 0 && round % evaluate_every == 0);
  }
};
RecordedLosses recorded_losses(const RunRow& run);

struct CompareRow {
  RunRow run;
  // Where it ended or, while it has not, what was recorded last; absent before the first record.
  std::optional<RunSummary::Final> last;
  std::optional<double> target;  // absent: none was given and the group has no finished baseline
  // The first round at or below the target, of those with a loss over all samples; absent when the run never got there, and where only
  // the end has such a loss. Where losses are those of the nodes that each round counted, a mean over neighbouring rounds
  // decides (smoothed_losses).
  std::optional<std::uint64_t> steps_to_target;
  std::optional<std::uint64_t> bytes_to_target;  // up and down until then
  std::optional<double> seconds_to_target;       // of virtual time, where the run has one
  RecordedLosses losses = {};
  bool last_over_batches = false;  // the training loss of `last` is not over all samples
};

// Two runs of the same problem, model, algorithm and precision, round by round.
struct Parting {
  std::string first, second;            // run ids
  std::uint64_t common_rounds = 0;      // the last round that both have; round 0 is the initial state
  std::optional<std::uint64_t> parted;  // the first round whose digests differ; absent: none
  bool same_length = true;              // both ended at the same round
};

struct Target {
  std::string model;
  std::string data;
  double loss = 0;
  std::string run;  // the baseline's id; empty when the target was given
};

struct Comparison {
  std::vector<CompareRow> rows;
  std::vector<Target> targets;    // one per group that has one, in order of first appearance
  std::vector<Parting> partings;  // each later run of a family with the first
  std::string baseline;
};

// For each round the mean loss of those up to a twentieth of the run before and after it.
std::vector<double> smoothed_losses(std::span<const RoundRow> rounds);

// `ids` as Store::get takes them; rows come in their order.
Result<Comparison> compare_runs(const Store& store, std::span<const std::string> ids,
                                const CompareOptions& options = {});

// For runs whose rounds do not count all nodes: their losses are estimates.
inline constexpr std::string_view kSampledNote =
    "Losses are those of the nodes that each round counted, an estimate: steps to target are read off their "
    "mean over "
    "neighbouring rounds.";
bool has_sampled_target(const Comparison& comparison);

// "samples", "batches" or "batches, samples every 20 rounds".
std::string losses_text(const RecordedLosses& losses);
// Whether a run has losses over batches: tables then show what the losses are over.
bool has_batches(const Comparison& comparison);
// One sentence for each kind of run whose losses over batches were left out of the comparison.
std::vector<std::string> batch_notes(const Comparison& comparison);

// True when a run has a virtual time: tables then show the time to the target.
bool has_virtual_time(const Comparison& comparison);

std::string compare_text(const Comparison& comparison);
Json compare_json(const Comparison& comparison);

// "identical for all 250 rounds", "part at round 17".
std::string parting_text(const Parting& parting);

}  // namespace mfl
