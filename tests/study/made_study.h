// Studies with results that are written down, not trained.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "mfl/study/evidence.h"

namespace mfl {

// Two algorithms "fl" and "mfl", one problem "made", as many splits and seeds as the numbers have.
inline StudyPlan made_plan(std::size_t splits, std::size_t seeds) {
  StudyPlan plan;
  plan.title = "made";
  plan.algorithms = {{.label = "fl", .spec = "fl"},
                     {.label = "mfl", .spec = "mfl", .tuned = "gamma", .values = {0.5, 0.9}}};
  plan.problems = {{.label = "made", .data = "synthetic", .model = "svm", .eta = {0.1, 0.2, 0.3}}};
  for (std::size_t i = 0; i < splits; ++i) plan.splits.push_back("split" + std::to_string(i + 1));
  for (std::size_t i = 0; i < seeds; ++i) plan.seeds.push_back(i + 1);
  plan.tuning_seeds = {101};
  plan.focus = 1;
  return plan;
}

// A run whose loss falls in a line from 1 in round 0 to `end` in round 10; 100 bytes and 2 seconds per round.
inline StudyRun falling_run(double end, std::uint64_t bytes_per_round = 100) {
  StudyRun run;
  run.final_loss = end;
  for (std::uint64_t round = 0; round <= 10; ++round)
    run.points.push_back({round, 1 - (1 - end) * static_cast<double>(round) / 10, round * bytes_per_round,
                          2 * static_cast<double>(round)});
  return run;
}

inline StudyRun diverged_run() {
  StudyRun run = falling_run(0.5);
  run.points.resize(3);
  run.diverged = true;
  run.final_loss = 1e300;
  return run;
}

// runs[split][algorithm][seed]
inline StudyEvidence made_evidence(const std::vector<std::vector<std::vector<StudyRun>>>& runs) {
  StudyEvidence evidence;
  evidence.plan = made_plan(runs.size(), runs.front().front().size());
  evidence.rounds = 10;
  for (std::size_t split = 0; split < runs.size(); ++split) {
    evidence.tuned.emplace_back();
    for (std::size_t algorithm = 0; algorithm < runs[split].size(); ++algorithm) {
      evidence.tuned.back().push_back({.scores = {1, 0.5, 1}, .chosen = 1});
      for (std::size_t seed = 0; seed < runs[split][algorithm].size(); ++seed) {
        evidence.runs.push_back(runs[split][algorithm][seed]);
        evidence.runs.back().key = {{0, split}, algorithm, 1, seed + 1};
      }
    }
  }
  return evidence;
}

}  // namespace mfl
