// Means over seeds and the sentences that sum a comparison up.
#pragma once

#include <vector>

#include "mfl/report/compare.h"

namespace mfl {

// Centralised algorithms exchange nothing: a round of theirs is a step, and no round of others.
bool exchanges(const RunRow& run);

// The rows of a comparison whose runs and settings are complete.
std::vector<SettingRow> setting_rows(const Comparison& comparison);

// One for each setting that has seeds in common with a setting of the baseline on the same problem, model,
// partition and nodes. Where the baseline has several settings there, only settings that differ from it in
// one key: such a difference has one cause. None where losses over batches leave nothing to compare.
std::vector<Headline> headlines_of(const Comparison& comparison, const CompareOptions& options);

}  // namespace mfl
