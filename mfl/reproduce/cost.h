// What it costs to get to a loss: steps, rounds and bytes. MFL sends two vectors where FL sends one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mfl/reproduce/evidence.h"

namespace mfl {

// Means over the seeds that reached the target, which is FL's final loss on the same data.
struct CostRow {
  std::string model;
  std::string algorithm;  // "fl", ...
  double gamma = 0;       // 0 where there is none
  std::uint64_t tau = 0;  // 0 for the centralised
  // tau = 1: the mean of d is enough, since every node can take the step of w itself. Computed from the row
  // above, not run.
  bool d_alone = false;
  std::size_t seeds = 0, reached = 0;
  double target = 0;                    // mean over seeds
  double steps = 0, rounds = 0;         // rounds: aggregations; 0 for the centralised
  double bytes_up = 0, bytes_down = 0;  // bytes of all nodes
  // (up + down) over those of FL at the same target; absent where FL has none.
  std::optional<double> bytes_to_fl;
};

// FL, MFL, MGD and GD at figure 4's setting for every model; for svm also tau = 1, where it was run.
std::vector<CostRow> cost_rows(const Evidence& evidence);

// The costs of svm with each gamma of figure 5.
std::vector<CostRow> gamma_cost_rows(const Evidence& evidence);

// The smallest gamma of those rows that all seeds reach with no more bytes than FL; absent when there is
// none.
std::optional<double> break_even_gamma(const std::vector<CostRow>& rows);

}  // namespace mfl
