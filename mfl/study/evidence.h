// What the runs of a study showed, as plain values. Results, conclusions and the page are functions of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mfl/study/plan.h"

namespace mfl {

// The end of a round at which the metric is known; round 0 is the start. Bytes of all nodes, up and down, and
// virtual seconds so far.
struct StudyPoint {
  std::uint64_t round = 0;
  double value = 0;  // value of the metric
  std::uint64_t bytes = 0;
  std::optional<double> seconds = {};  // absent without a virtual time

  bool operator==(const StudyPoint&) const = default;
};

struct StudyRun {
  StudyRunKey key;
  bool diverged = false;
  double final_loss = 0;
  std::optional<double> final_accuracy = {};  // a share of 1
  std::vector<StudyPoint> points = {};        // by round; empty for tuning runs
  std::string digest = {};                    // digest of the final weights
};

// The final value of the metric so that less is better: the loss, or 1 - accuracy. Infinite for a run that
// diverged.
double score_of(const StudyRun& run, StudyMetric metric);
// Turns a value of the metric into a score, or a score into a value.
double as_score(double value, StudyMetric metric);
double as_value(double score, StudyMetric metric);

// How the setting of an algorithm in a cell was selected.
struct TunedSetting {
  std::vector<double> scores;  // for each candidate the mean over the tuning seeds, infinite if one diverged
  std::size_t chosen = 0;      // the candidate of the least score, the first of equals
  bool all_diverged = false;   // then the first one is taken
  bool at_low_edge = false, at_high_edge = false;  // its step size is the first, or the last, of several
};

// tuned[cell of cells_of][algorithm]. `runs` are those of tuning_runs, in any order.
std::vector<std::vector<TunedSetting>> select_settings(const StudyPlan& plan, std::span<const StudyRun> runs);

ChosenCandidates chosen_of(const std::vector<std::vector<TunedSetting>>& tuned);

struct StudyEvidence {
  StudyPlan plan;
  std::vector<std::vector<TunedSetting>> tuned;  // as select_settings gives them
  std::vector<StudyRun> runs;                    // for the reported seeds, in the order of reported_runs
  std::uint64_t rounds = 0;                      // rounds of a whole run

  // The runs of a cell and an algorithm, in the order of the seeds.
  std::span<const StudyRun> runs_of(std::size_t cell, std::size_t algorithm) const;
};

}  // namespace mfl
