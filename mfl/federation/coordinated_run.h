// What the parts of a coordinator share: the run that they work on.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mfl/federation/coordinator.h"
#include "mfl/federation/membership.h"
#include "mfl/federation/run_report.h"
#include "mfl/federation/run_shape.h"

namespace mfl {

// Not thread-safe. The log outlives it.
struct CoordinatedRun {
  CoordinatedRun(CoordinatorOptions its_options, RunShapeOptions shape_options, RoundLog& its_log);

  // The run cannot continue.
  void stop_with(Error error);
  // The schema of the run as JSON, with what a later process must know of its nodes.
  std::string kept_schema() const;

  const CoordinatorOptions options;
  RoundLog& log;
  RunShape shape;
  Membership members;
  RunReport report;
  Time now{0};
  std::uint64_t version = 0;  // as Coordinator::version()
  std::string ended;          // "done" or "diverged"; empty: the run continues
  std::string digest;         // of the final weights
  std::optional<Error> failure;

  // Of what precedes the first round.
  bool schema_kept;                   // in the log, by this process
  double eta;                         // the step size that was measured; 0: that of the experiment
  std::vector<std::string> measured;  // the nodes whose answers settled it
};

// Some of the names, for people: "a, b, c and 4 more".
std::string some_of(std::span<const std::string> names);

}  // namespace mfl
