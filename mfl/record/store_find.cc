#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "mfl/record/rows.h"
#include "mfl/record/sqlite.h"
#include "mfl/record/store.h"

namespace mfl {
namespace {

constexpr std::string_view kLatest = "latest";
constexpr std::size_t kShownIds = 3;

// "fl~2": the third newest of the runs that "fl" means.
struct Generation {
  std::string_view name;
  std::int64_t back = 0;
};

Generation parse_generation(std::string_view text) {
  const std::size_t tilde = text.rfind('~');
  if (tilde == std::string_view::npos) return {text};
  const std::string_view digits = text.substr(tilde + 1);
  std::int64_t back = 0;
  const auto [end, error] = std::from_chars(digits.begin(), digits.end(), back);
  if (error != std::errc() || end != digits.end() || digits.empty() || back < 0) return {text};
  return {text.substr(0, tilde), back};
}

Result<std::vector<std::string>> ids_of(Statement& rows) {
  std::vector<std::string> ids;
  for (;;) {
    MFL_TRY(const bool more, rows.step());
    if (!more) return ids;
    ids.push_back(rows.bytes());
  }
}

Result<std::optional<std::string>> newest_named(const Database& database, std::string_view name,
                                                std::int64_t back) {
  MFL_TRY(Statement find,
          database.prepare(
              "SELECT id FROM runs WHERE ?1 <> '' AND name = ?1 ORDER BY number DESC LIMIT 1 OFFSET ?2"));
  MFL_TRY(const auto ids, ids_of(find.with(name, back)));
  return ids.empty() ? std::nullopt : std::optional(ids.front());
}

Result<std::vector<std::string>> ids_beginning_with(const Database& database, std::string_view prefix) {
  // Ids are hexadecimal digits, all of them below 'g'.
  MFL_TRY(Statement find,
          database.prepare("SELECT id FROM runs WHERE ?1 <> '' AND id >= ?1 AND id < ?1 || 'g' "
                           "ORDER BY number DESC LIMIT ?2"));
  return ids_of(find.with(prefix, static_cast<std::int64_t>(kShownIds + 1)));
}

std::string several(std::vector<std::string> ids) {
  if (ids.size() > kShownIds) ids[kShownIds] = "...";
  return fmt::format("{}", fmt::join(ids, ", "));
}

}  // namespace

Result<RunRow> Store::latest(std::uint64_t back) const {
  MFL_TRY(Statement find, database_->prepare("SELECT id FROM runs ORDER BY number DESC LIMIT 1 OFFSET ?"));
  MFL_TRY(const auto ids, ids_of(find.with(back)));
  if (!ids.empty()) return exact(ids.front());
  MFL_TRY(const std::int64_t count, database_->integer("SELECT count(*) FROM runs"));
  if (count == 0)
    return fail(ErrorCode::kBadConfig, fmt::format("there are no runs in store {}", path().string()),
                "nothing has been recorded yet; run: mfl run");
  return fail(ErrorCode::kBadConfig,
              fmt::format("there is no run latest~{}: store {} has {} runs", back, path().string(), count),
              "mfl runs list shows the runs");
}

Result<RunRow> Store::get(std::string_view run) const {
  const auto [name, back] = parse_generation(run);
  if (name == kLatest) return latest(static_cast<std::uint64_t>(back));
  MFL_TRY(Statement whole, database_->prepare("SELECT id FROM runs WHERE id = ?"));
  MFL_TRY(const auto whole_ids, ids_of(whole.with(run)));
  if (!whole_ids.empty()) return exact(whole_ids.front());

  MFL_TRY(auto named, newest_named(*database_, run, 0));
  if (!named && name != run) {
    MFL_TRY(named, newest_named(*database_, name, back));
  }
  MFL_TRY(const auto begun, ids_beginning_with(*database_, run));
  if (named && !begun.empty() && (begun.size() > 1 || begun.front() != *named))
    return fail(ErrorCode::kBadConfig,
                fmt::format("\"{}\" is the name of run {} and the beginning of the id {}", run, *named,
                            several(begun)),
                "give the whole id");
  if (named) return exact(*named);
  if (begun.empty()) return unknown(run);
  if (begun.size() == 1) return exact(begun.front());
  return fail(ErrorCode::kBadConfig, fmt::format("\"{}\" matches more than one run: {}", run, several(begun)),
              "give more digits of the id");
}

Result<std::vector<std::string>> Store::find(std::span<const std::string> names) const {
  std::vector<std::string> ids;
  for (const std::string& name : names) {
    MFL_TRY(Statement group, database_->prepare("SELECT id FROM runs WHERE ?1 <> '' AND name > ?1 || '/' AND "
                                                "name < ?1 || '0' ORDER BY number"));
    MFL_TRY(std::vector<std::string> found, ids_of(group.with(std::string_view(name))));
    if (found.empty()) {
      MFL_TRY(const RunRow run, get(name));
      found.push_back(run.id);
    }
    for (std::string& id : found)
      if (std::ranges::find(ids, id) == ids.end()) ids.push_back(std::move(id));
  }
  return ids;
}

Result<std::optional<RunRow>> Store::find_unfinished(std::string_view config_digest,
                                                     std::string_view data_digest,
                                                     std::string_view mfl_version) const {
  MFL_TRY(Statement find,
          database_->prepare(
              fmt::format("SELECT {}, test_metrics FROM runs WHERE config_digest = ? AND data_digest = ? AND "
                          "mfl_version = ? ORDER BY number DESC",
                          kRunColumns)));
  find.with(config_digest, data_digest, mfl_version);
  for (;;) {
    MFL_TRY(const bool more, find.step());
    if (!more) return std::nullopt;
    MFL_TRY(RunRow run, read_run(*database_, find));
    if (is_unfinished(run)) return run;
  }
}

}  // namespace mfl
