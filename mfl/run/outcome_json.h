// The outcome of a run as JSON.
#pragma once

#include <string>

#include "mfl/base/json.h"
#include "mfl/run/runner.h"

namespace mfl {

// {"data":{...},"federation":{...},...}: every key with its value.
Json config_json(const Config& config);

Json outcome_json(const RunOutcome& run);

}  // namespace mfl
