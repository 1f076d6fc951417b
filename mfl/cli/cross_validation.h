// What `mfl run --folds N` prints: a line per fold, mean and deviation.
#pragma once

#include <vector>

#include "mfl/cli/reply.h"
#include "mfl/run/runner.h"

namespace mfl::cli {

// Of the folds that were trained, in their order. The failure names one that did not end.
Reply cross_validation_reply(const Config& config, const std::vector<RunOutcome>& folds);

}  // namespace mfl::cli
