// What `mfl report` writes: any runs of the store as a page. Reads the store only.
#pragma once

#include <span>
#include <string>

#include "mfl/base/result.h"
#include "mfl/record/store.h"
#include "mfl/report/compare.h"
#include "mfl/report/report.h"

namespace mfl {

// Comparison, curves of loss and accuracy for each model and problem, and for each run its configuration, digests, where and
// when it ran; data/records.csv and data/rounds.csv. `ids` as Store::get takes them; a run named twice counts once.
Result<Report> runs_report(const Store& store, std::span<const std::string> ids,
                           const CompareOptions& options = {});

}  // namespace mfl
