// Runs as CSV and JSON text.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mfl/base/json.h"
#include "mfl/base/result.h"
#include "mfl/record/run.h"
#include "mfl/record/store.h"

namespace mfl {

// A run and its recorded data.
struct RunExport {
  RunRow run;
  std::vector<RecordRow> records;
  std::optional<std::vector<RoundRow>> rounds;     // absent if not requested
  std::optional<std::vector<NodeRow>> nodes = {};  // the same
};

// `id` as Store::get takes it.
Result<RunExport> load_run(const Store& store, std::string_view id, bool with_rounds,
                           bool with_nodes = false);

// A header and one line per record, round, or round and node, with the run's id in the first column. Doubles have 17 significant
// digits (nan, inf and -inf if they are not finite); a value that was not measured is an empty field.
std::string records_csv(std::span<const RunExport> runs);
std::string rounds_csv(std::span<const RunExport> runs);
std::string nodes_csv(std::span<const RunExport> runs);

// JSON has no NaN and no infinity: a double that is not finite is null, as is a value that was not
// measured. Finite doubles are written with as many digits as restore the same bits, at most 17.
Json run_json(const RunRow& run);
Json warning_json(const RunWarning& warning);
Json record_json(const RecordRow& record);
Json round_json(const RoundRow& round);
Json node_json(const NodeRow& node);
// {"run":run_json,"records":[...]}, and "rounds":[...] and "nodes":[...] if they were loaded.
Json export_json(const RunExport& run);
// {"schema_version":1,"runs":[...]}, indented.
std::string export_json_text(std::span<const RunExport> runs);

}  // namespace mfl
