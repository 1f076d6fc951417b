#include <fmt/core.h>

#include <filesystem>

#include "mfl/base/files.h"
#include "mfl/capi/boundary.h"
#include "mfl/capi/mfl.h"
#include "mfl/record/export.h"
#include "mfl/record/store.h"
#include "mfl/report/compare.h"
#include "mfl/report/nodes.h"
#include "mfl/report/runs.h"

namespace mfl::capi {
namespace {

using Path = std::filesystem::path;

Result<Json> list_runs(const Path& store, const char* text) {
  MFL_TRY(const Request request,
          Request::parse(text, "request", {"what", "status", "name", "model", "algorithm", "limit"}));
  RunFilter filter;
  MFL_TRY(const std::string status, request.text("status"));
  MFL_TRY(filter.name, request.text("name"));
  MFL_TRY(filter.model, request.text("model"));
  MFL_TRY(filter.algorithm, request.text("algorithm"));
  MFL_TRY(const auto limit, request.count("limit"));
  MFL_TRY(std::vector<RunRow> runs, find_runs(store, filter, status));
  if (limit && *limit != 0 && *limit < runs.size()) runs.resize(*limit);
  return runs_json(runs);
}

Result<Json> show_run(const Path& path, const char* text) {
  MFL_TRY(const Request request, Request::parse(text, "request", {"what", "run", "rounds", "nodes"}));
  MFL_TRY(const std::string id, request.text("run"));
  MFL_TRY(const bool rounds, request.flag("rounds"));
  MFL_TRY(const bool nodes, request.flag("nodes"));
  MFL_TRY(const Store store, Store::open(path, {.read_only = true}));
  MFL_TRY(const RunExport run, load_run(store, id, rounds || nodes, nodes));
  Json out = whole_json(run);
  if (!rounds) out.erase("rounds");
  if (nodes) out["participation"] = nodes_json(run);
  return out;
}

Result<Json> compare(const Path& path, const char* text) {
  MFL_TRY(const Request request, Request::parse(text, "request", {"what", "runs", "baseline", "target"}));
  MFL_TRY(const std::vector<std::string> names, request.texts("runs"));
  if (names.empty()) return fail(ErrorCode::kBadConfig, "request: runs must name at least one run");
  CompareOptions options;
  MFL_TRY(options.target, request.number("target"));
  MFL_TRY(const std::string baseline, request.text("baseline"));
  if (!baseline.empty()) options.baseline = baseline;
  MFL_TRY(const Store store, Store::open(path, {.read_only = true}));
  MFL_TRY(const std::vector<std::string> ids, store.find(names));
  MFL_TRY(const Comparison comparison, compare_runs(store, ids, options));
  return compare_json(comparison);
}

Result<Json> answer(const Path& store, const char* text) {
  MFL_TRY(const Request request, Request::parse(text, "request", {}));
  MFL_TRY(const std::string what, request.text("what"));
  if (what == "runs") return list_runs(store, text);
  if (what == "run") return show_run(store, text);
  if (what == "compare") return compare(store, text);
  return fail(ErrorCode::kBadConfig, fmt::format("request: what is \"{}\"", what),
              "it must be runs, run or compare");
}

}  // namespace
}  // namespace mfl::capi

extern "C" int32_t mfl_store_query(const char* store, const char* request, char** json, char** error) {
  namespace capi = mfl::capi;
  return capi::guarded(error, [&]() -> mfl::Result<void> {
    MFL_CHECK(capi::require(json, "json"));
    *json = nullptr;
    MFL_CHECK(capi::require(request, "request"));
    const std::string_view path = capi::text_or_empty(store);
    MFL_TRY(const mfl::Json found,
            capi::answer(path.empty() ? mfl::default_store_path() : capi::Path(path), request));
    return capi::give(found.dump(), json);
  });
}
