// A study: algorithms x splits x problems x seeds, with the step size and one further parameter of every
// algorithm tuned on seeds of their own. It is written as an experiment file with a table [study]
// (docs/study.md).
//
//   MFL_TRY(const StudyPlan plan, read_study("experiments/heterogeneity.toml", {.quick = true}));
//   MFL_TRY(const auto tuning, tuning_runs(plan));        // every setting of every algorithm in every cell
//   ...                                                   // train; select a setting per cell and algorithm
//   MFL_TRY(const auto reported, reported_runs(plan, chosen));
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mfl/base/result.h"
#include "mfl/config/config.h"

namespace mfl {

// What settings are selected by, targets are defined in and algorithms are ranked by.
enum class StudyMetric { kTrainLoss, kTestAccuracy };

// "training loss", "test accuracy".
std::string_view metric_text(StudyMetric metric);
constexpr bool less_is_better(StudyMetric metric) { return metric == StudyMetric::kTrainLoss; }

// A key of an experiment and its value, as set_key takes them.
using KeyValue = std::pair<std::string, std::string>;

struct StudyAlgorithm {
  std::string label;                // on the page; unique
  std::string spec;                 // as the file has it, without the tuned parameter
  std::string tuned = {};           // the parameter that is tuned beside the step size; empty: none
  std::vector<double> values = {};  // its values, ascending
  std::vector<KeyValue> set = {};
};

struct StudyProblem {
  std::string label;  // on the page; unique
  std::string data, model;
  std::vector<double> eta;  // the grid of step sizes of all algorithms, ascending
  // A value of the metric; absent: what the reference reaches with the same seed.
  std::optional<double> target = {};
  std::vector<KeyValue> set = {};
};

struct StudyPlan {
  std::string title;
  bool quick = false;
  Config base;
  std::vector<StudyAlgorithm> algorithms;
  std::vector<StudyProblem> problems;
  // Specs of partitions() as the file has them, from the most even to the most skewed.
  std::vector<std::string> splits;
  std::vector<std::uint64_t> seeds, tuning_seeds;  // disjoint
  StudyMetric metric = StudyMetric::kTrainLoss;
  std::size_t reference = 0;  // in algorithms: whose final value is the target, where none is given
  std::optional<std::size_t> focus = {};  // in algorithms: compared with the reference cell by cell
};

// A setting of an algorithm: one point of its grid.
struct StudyCandidate {
  double eta = 0;
  std::optional<double> value = {};  // the value of StudyAlgorithm::tuned

  bool operator==(const StudyCandidate&) const = default;
};

// Step sizes ascending, and for each the values of the tuned parameter ascending.
std::vector<StudyCandidate> candidates(const StudyPlan& plan, std::size_t problem, std::size_t algorithm);

// A data source, a model and a split: what algorithms are compared on.
struct StudyCell {
  std::size_t problem = 0, split = 0;

  auto operator<=>(const StudyCell&) const = default;
};

// All of them, problem by problem.
std::vector<StudyCell> cells_of(const StudyPlan& plan);

struct StudyRunKey {
  StudyCell cell;
  std::size_t algorithm = 0, candidate = 0;
  std::uint64_t seed = 0;

  auto operator<=>(const StudyRunKey&) const = default;
};

struct PlannedStudyRun {
  StudyRunKey key;
  Config config;
};

struct StudyOptions {
  bool quick = false;                                // as [study.quick] says
  std::function<Result<void>(Config&)> adjust = {};  // on the base of all runs, after the file; may be empty
};

// Everything is checked: names, ranges, seeds that overlap, runs that would not be comparable, and every
// setting of the grid. Errors are kBadConfig and start with FILE:LINE where a line is to blame.
Result<StudyPlan> read_study(const std::filesystem::path& path, const StudyOptions& options = {});
Result<StudyPlan> parse_study(std::string_view text, std::string_view file, const StudyOptions& options = {});

Result<Config> study_config(const StudyPlan& plan, const StudyRunKey& key);

// Every candidate of every algorithm in every cell, for the tuning seeds.
Result<std::vector<PlannedStudyRun>> tuning_runs(const StudyPlan& plan);

// The candidate of each algorithm in each cell: chosen[cell of cells_of][algorithm].
using ChosenCandidates = std::vector<std::vector<std::size_t>>;

// The runs of the chosen candidates for the reported seeds.
Result<std::vector<PlannedStudyRun>> reported_runs(const StudyPlan& plan, const ChosenCandidates& chosen);

// "eta 0.1, gamma 0.9"
std::string candidate_text(const StudyPlan& plan, std::size_t algorithm, const StudyCandidate& candidate);

}  // namespace mfl
