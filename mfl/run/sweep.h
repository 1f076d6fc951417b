// Trains many settings (config/sweep_grid.h). Those with equal data and partition share each pass over the rows; each is a
// separate run in the store, with the digest that mfl run gives it.
#pragma once

#include <vector>

#include "mfl/base/result.h"
#include "mfl/config/config.h"
#include "mfl/run/runner.h"

namespace mfl {

// Trains all settings and gives their outcomes in the order of `configs`. As run_experiment: a setting that diverges or
// is stopped is an outcome. Of the options, store, reuse, memory and ranks count. With reuse a sweep that was stopped, by a signal or
// a crash, continues: finished settings are taken from the store, unfinished ones continue from their last checkpoint, and the
// digests are those of a sweep that was never stopped.
Result<std::vector<RunOutcome>> run_sweep(const std::vector<Config>& configs, const RunOptions& options,
                                          const RunHooks& hooks);

}  // namespace mfl
