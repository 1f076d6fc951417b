// A run's outcome for programs.
#pragma once

#include "mfl/cli/reply.h"
#include "mfl/experiment/runner.h"

namespace mfl::cli {

Json outcome_json(const RunOutcome& run);

}  // namespace mfl::cli
