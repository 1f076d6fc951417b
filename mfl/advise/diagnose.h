// A run together with the measurements of its theory.
#pragma once

#include <string>

#include "mfl/base/result.h"
#include "mfl/config/config.h"
#include "mfl/run/runner.h"
#include "mfl/theory/diagnosis.h"

namespace mfl {

struct TheoryOutcome {
  Config config;
  Diagnosis diagnosis;
  std::string digest;  // of the final w: that of mfl run in f64
  double load_seconds = 0, wall_seconds = 0;
};

// Loads, finds the constants, trains in f64 whatever the configuration says, and judges. Without momentum of its own the
// run is alone, else the same run with gamma = 0 is made as well. Nothing is recorded. A stopped run is
// kRunFailed; one that diverges is an outcome.
Result<TheoryOutcome> diagnose_experiment(const Config& config, const RunHooks& hooks);

}  // namespace mfl
