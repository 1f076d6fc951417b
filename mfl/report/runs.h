// What `mfl runs list` and `mfl runs show` print. Reads the store only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mfl/base/json.h"
#include "mfl/base/result.h"
#include "mfl/record/export.h"
#include "mfl/record/run.h"
#include "mfl/record/store.h"

namespace mfl {

// A whole number of the run's configuration, whose key must occur in one table only; nothing where it is
// absent.
std::optional<std::uint64_t> config_number(const RunRow& run, std::string_view key);

// RunSpec::data_schema for people: the JSON without the names of many features or classes; empty where there
// is none.
std::string schema_line(const std::string& data_schema);

// As run_status_name, but "killed" for a run marked as running whose process on this host no longer exists.
std::string shown_status(const RunRow& run);

// The status with "!" behind it where the run ended with a warning.
std::string marked_status(const RunRow& run);

// One line per run, in the order given, at most 100 columns wide: what does not fit is left out, nodes and
// data first.
std::string runs_text(std::span<const RunRow> runs);
// {"runs":[{run_json, "shown_status", "seed"}, ...]} without the configuration and the metrics of the test
// set.
Json runs_json(std::span<const RunRow> runs);

// Everything about a run: its fields, metrics of the test set, the last `last_records` records, its virtual
// time, and its configuration: `config`, or the whole of it. The host and process only while it is running:
// the text may be published.
std::string run_text(const RunExport& run, std::size_t last_records = 10, const std::string& config = {});
// export_json with "shown_status" in "run".
Json whole_json(const RunExport& run);
// whole_json(), with rounds only where the run has a virtual time.
Json show_json(const RunExport& run);

// Runs of a store, newest first; none where the store does not exist. `status` as shown_status() gives it, ""
// for any: kBadConfig for another word.
Result<std::vector<RunRow>> find_runs(const std::filesystem::path& store, RunFilter filter,
                                      const std::string& status);
// {"running", "done", "diverged", "interrupted", "failed", "killed"}
std::span<const std::string_view> shown_statuses();

}  // namespace mfl
