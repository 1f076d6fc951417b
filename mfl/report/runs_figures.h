// The curves of a report on runs: one picture per quantity for the settings that minimise the same function.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "mfl/base/result.h"
#include "mfl/record/export.h"
#include "mfl/report/page.h"
#include "mfl/report/settings.h"

namespace mfl {

// `settings` are those of `runs`. Settings with runs of the same model and problem share their pictures. A
// setting of several seeds is the mean over its runs that count, with a band of one standard deviation to
// both sides; where none counts, and in settings of one seed, each run has its own curve. Errors as draw().
//
// `x` is what curves are drawn over: "steps", "rounds", "bytes" or "seconds".
Result<std::vector<PageFigures>> runs_figures(const std::vector<RunExport>& runs, const Settings& settings,
                                              std::string_view x = "steps");

}  // namespace mfl
