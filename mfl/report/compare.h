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

struct CompareRow {
  RunRow run;
  // Where it ended or, while it has not, what was recorded last; absent before the first record.
  std::optional<RunSummary::Final> last;
  std::optional<double> target;  // absent: none was given and the group has no finished baseline
  // The first round at or below the target; absent when the run never got there. Where losses are those of the nodes that
  // each round counted, a mean over neighbouring rounds decides (smoothed_losses).
  std::optional<std::uint64_t> steps_to_target;
  std::optional<std::uint64_t> bytes_to_target;  // up and down until then
  std::optional<double> seconds_to_target;       // of virtual time, where the run has one
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

// True when a run has a virtual time: tables then show the time to the target.
bool has_virtual_time(const Comparison& comparison);

std::string compare_text(const Comparison& comparison);
Json compare_json(const Comparison& comparison);

// "identical for all 250 rounds", "part at round 17".
std::string parting_text(const Parting& parting);

}  // namespace mfl
