// The paper's experiments, run or taken from the store, and the report about them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "mfl/base/result.h"
#include "mfl/report/report.h"
#include "mfl/reproduce/claims.h"
#include "mfl/reproduce/evidence.h"
#include "mfl/reproduce/plan.h"
#include "mfl/run/runner.h"

namespace mfl {

struct Reproduction {
  Evidence evidence;
  std::vector<Claim> claims;
  std::size_t runs = 0, reused = 0;
};

// Trains what the store does not hold yet, all settings in one sweep, and judges the claims. An interruption
// is kRunFailed: what was finished is in the store and is not done again. A run that diverges is part of the
// evidence.
Result<Reproduction> reproduce(const PlanOptions& options, const std::filesystem::path& store,
                               const RunHooks& hooks);

// report.html, the figures, data/FIGURE.csv, data/runs.csv and claims.json. Data and claims are the same
// bytes for the same runs, whenever and wherever they ran.
Result<Report> reproduction_report(const Reproduction& reproduction, const PlanOptions& options);

}  // namespace mfl
