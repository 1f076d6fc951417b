// The numbers of a study's page: what each algorithm reached in each cell, at what cost, and how algorithms
// compare.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "mfl/study/evidence.h"
#include "mfl/study/statistics.h"

namespace mfl {

// The cost of reaching the target, over seeds. A seed that did not reach it counts with the cost of its whole
// run, or, where that diverged, with the cost that it would have had: the mean is then a lower bound without
// a standard deviation.
struct CostToTarget {
  double mean = 0;
  std::optional<double> sd;
};

struct AlgorithmResult {
  std::size_t seeds = 0, diverged = 0, reached = 0;
  // Final, over the seeds that did not diverge; accuracy counts 0 where there is none.
  Summary loss, accuracy;
  std::vector<double> scores;  // by seed (score_of)
  CostToTarget rounds, bytes;
  std::optional<CostToTarget> seconds;  // absent without a virtual time
  bool best = false;                    // the least mean score of the cell
  // Against the best one of the cell; kTie for the best itself.
  PairedDifference to_best;
};

struct CellResult {
  StudyCell cell;
  std::vector<double> targets;  // by seed, values of the metric; not finite where the reference diverged
  std::vector<AlgorithmResult> algorithms;
  std::size_t best = 0;
};

struct StudyResults {
  std::vector<CellResult> cells;   // in the order of cells_of
  std::vector<MeanRank> ranking;   // by algorithm, over all cells
  std::vector<std::size_t> order;  // algorithms by mean rank, the first of equals first
};

StudyResults results_of(const StudyEvidence& evidence);

// The first point of a run at or beyond the target; absent if it never got there.
std::optional<StudyPoint> first_at(const StudyRun& run, double target, StudyMetric metric);

// One algorithm against another in every cell, by score.
struct CellComparison {
  std::size_t cell = 0;  // in cells
  PairedDifference difference;
};
std::vector<CellComparison> compare_algorithms(const StudyResults& results, std::size_t a, std::size_t b);

// The cost of `a` over the cost of `b` in the cells where both reached the target with every seed: geometric
// mean, and the number of these cells. Absent if there is none.
struct CostRatio {
  double rounds = 1, bytes = 1;
  std::optional<double> seconds;
  std::size_t cells = 0;
};
std::optional<CostRatio> cost_ratio(const StudyResults& results, std::size_t a, std::size_t b);

}  // namespace mfl
