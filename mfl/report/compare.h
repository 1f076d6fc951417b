// What `mfl runs compare` prints, and the table that run.sh writes to results/comparison.txt. Reads the store
// only.
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
#include "mfl/report/settings.h"
#include "mfl/report/table_formats.h"

namespace mfl {

struct CompareOptions {
  // The training loss to reach. Absent: the final training loss of the baseline algorithm on the same model
  // and problem, where it is finite; smoothed where it is sampled. Of several settings of the baseline the
  // first counts, one with the same partition and nodes before others. Where it has several seeds, each run's
  // target is that of its own seed.
  std::optional<double> target = {};
  std::string baseline = "fl";  // an algorithm with any parameters, or with those it names
  RunLabels labels = {};
};

// How often F(w) of a run was measured, its train_loss.
struct MeasuredLosses {
  std::size_t rows = 0, measured = 0;  // States, and those whose F(w) is known

  bool sparse() const { return measured < rows; }
  // One of the end alone says nothing of the way there.
  bool end_only() const { return sparse() && measured < 2; }
};

struct CompareRow {
  RunRow run;
  std::string algorithm = {};  // in few words (brief_algorithms), or the label of its setting
  // Where it ended or, while it has not, what was recorded last; absent before the first record.
  std::optional<RunSummary::Final> last;
  std::optional<double> target;  // absent: none was given and the group has no finished baseline
  std::string target_run = {};   // the baseline's run; empty when the target was given
  // The first round at or below the target, of those whose F(w) was measured; absent when the run never got
  // there, and where only the end has such a loss. Where losses are those of the nodes that each round
  // counted, a mean over neighbouring rounds decides (smoothed_losses).
  std::optional<std::uint64_t> steps_to_target;
  std::optional<std::uint64_t> rounds_to_target;
  std::optional<std::uint64_t> bytes_to_target;  // up and down until then
  std::optional<double> seconds_to_target;       // virtual seconds, where the run has a clock
  MeasuredLosses losses = {};
};

// Two runs of the same problem, model, algorithm and precision, round by round.
struct Parting {
  std::string first, second;            // run ids
  std::uint64_t common_rounds = 0;      // the last round that both have; round 0 is the initial state
  std::optional<std::uint64_t> parted;  // the first round whose digests differ; absent: none
  bool same_length = true;              // both ended at the same round
  // Names of the nodes whose updates differ in that round, where both runs have digests of updates.
  std::vector<std::string> nodes = {};
};

struct Target {
  std::string model;
  std::string data;
  double loss = 0;
  std::string run;  // the baseline's id; empty when the target was given
};

// Means over the seeds of a setting; those on the way to the target only if every run reached it.
struct SettingRow {
  std::size_t setting = 0;                          // in Settings::all
  std::optional<Spread> loss, test_loss, accuracy;  // at the end; accuracy as a share
  std::size_t with_target = 0;                      // runs that have a target and losses to compare with it
  std::size_t reached = 0;                          // runs among these that reached the target
  std::optional<Spread> steps_to_target, rounds_to_target, bytes_to_target, seconds_to_target;
};

// A setting against the baseline, seed by seed, on the same data, model, partition and nodes.
struct Headline {
  std::string setting, baseline;  // titles
  std::size_t seeds = 0;          // seeds that both have
  std::size_t reached = 0;        // in how many the setting reached the target
  std::size_t diverged = 0;       // in how many it diverged; these did not reach it
  // The rounds to the target as a share of the baseline's, over the seeds in which both reached it.
  std::optional<Spread> share;
  std::optional<Spread> bytes_share;  // share of the bytes; absent where an algorithm exchanges nothing
  std::string text;  // "mfl reached fl's final loss in 0.50 ± 0.03 of the rounds (5 seeds)."
};

struct Comparison {
  std::vector<CompareRow> rows;
  Settings settings;
  std::vector<SettingRow> setting_rows;  // one per setting
  std::vector<Headline> headlines;
  std::vector<Target> targets;    // one per group that has one, in order of first appearance
  std::vector<Parting> partings;  // each later run of a family with the first
  std::string baseline;
};

// For each round the mean train_loss of those up to a twentieth of the run before and after it. All of them
// have one.
std::vector<double> smoothed_losses(std::span<const RoundRow> rounds);

// `ids` as Store::get takes them; rows come in their order.
Result<Comparison> compare_runs(const Store& store, std::span<const std::string> ids,
                                const CompareOptions& options = {});

// For runs whose rounds do not count all nodes: their losses are estimates.
inline constexpr std::string_view kSampledNote =
    "Losses are those of the nodes that each round counted, an estimate: steps to target are read off their "
    "mean over neighbouring rounds.";
bool has_sampled_target(const Comparison& comparison);

// "51 of 251 States", "" where all have it.
std::string measured_text(const MeasuredLosses& losses);
// Whether F(w) of some run was not measured in each round: tables then show how often it was.
bool has_sparse_losses(const Comparison& comparison);
// One sentence for each kind of run whose F(w) was not measured in each round.
std::vector<std::string> sparse_notes(const Comparison& comparison);

// True when a run has a virtual time: tables then show the time to the target.
bool has_virtual_time(const Comparison& comparison);

// Where settings have several seeds, one row per setting with means and standard deviations; else, or with
// `each`, one row per run. Text is at most 80 columns wide where leaving out bytes and time achieves that;
// CSV has all columns and plain numbers. Text and Markdown also have targets, headlines and notes; LaTeX has
// them as comments.
struct CompareFormat {
  TableFormat format = TableFormat::kText;
  bool each = false;
};
std::string compare_text(const Comparison& comparison, const CompareFormat& format = {});
// The table alone.
Table settings_table(const Comparison& comparison, TableFormat format);
Table runs_table(const Comparison& comparison, TableFormat format);
// What is compared and what was left out, one sentence each.
std::vector<std::string> comparison_notes(const Comparison& comparison);
// "411 ± 12", "3 of 5 seeds" where not all reached it, "-" where there is no target.
std::string to_target_text(const SettingRow& row, const std::optional<Spread>& spread);
Json compare_json(const Comparison& comparison);

// "identical for all 250 rounds", "part at round 17", "part at round 17: hospital-b sent another update".
std::string parting_text(const Parting& parting);

}  // namespace mfl
