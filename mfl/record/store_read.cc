#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "mfl/base/digest.h"
#include "mfl/base/json.h"
#include "mfl/base/visible.h"
#include "mfl/record/export.h"
#include "mfl/record/rows.h"
#include "mfl/record/store.h"

namespace mfl {
namespace {

int hex_value(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  return -1;
}

// An id is part of the names of files (state_files.h), and a store may be anybody's.
bool is_run_id(std::string_view id) {
  constexpr std::size_t kDigits = 8;
  return id.size() == kDigits && std::ranges::all_of(id, [](char c) { return hex_value(c) >= 0; });
}

tl::unexpected<Error> damaged_store(const Database& database, std::string_view what) {
  return fail(ErrorCode::kRunFailed, fmt::format("store {} is damaged: {}", database.path().string(), what),
              "restore it from a backup, or move it away and start a new one");
}

std::string text_of(const Json& object, std::string_view key) {
  const Json* found = object.find(key);
  return std::string(found == nullptr ? std::string_view() : found->text());
}

std::uint64_t natural_of(const Json& object, std::string_view key) {
  const Json* found = object.find(key);
  const std::string digits = found == nullptr ? "" : found->dump();
  std::uint64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

}  // namespace

std::string to_hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  hex.reserve(2 * bytes.size());
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    hex += kDigits[byte >> 4U];
    hex += kDigits[byte & 15U];
  }
  return hex;
}

Result<std::string> digest_bytes(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    const int high = hex_value(hex[i]), low = hex_value(hex[i + 1]);
    if (high < 0 || low < 0) break;
    bytes += static_cast<char>(static_cast<unsigned char>(16 * high + low));
  }
  if (hex.empty() || (hex.size() == 64 && bytes.size() == 32)) return bytes;
  return fail(ErrorCode::kInternal, fmt::format("\"{}\" is not a digest of 64 hexadecimal digits", hex));
}

std::string sha256_bytes(std::string_view bytes) {
  const auto digest = Sha256().update(bytes).finish();
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

RoundRow read_round(Statement& row) {
  // The members of a braced list are evaluated in order.
  RoundRow out{.round = row.natural(), .step = row.natural(), .train_loss = row.maybe_number()};
  out.batch_loss = row.maybe_number();
  out.start_loss = row.maybe_number();
  out.bytes_up = row.natural();
  out.bytes_down = row.natural();
  out.digest = to_hex(row.bytes());
  if (const auto total = row.maybe_number())
    out.time = RoundTime{.total_seconds = *total,
                         .seconds = row.number(),
                         .slowest_seconds = row.number(),
                         .idle_share = row.number(),
                         .chosen = row.natural(),
                         .missed = row.natural(),
                         .abandoned = row.natural()};
  return out;
}

RecordRow read_record(Statement& row) {
  RecordRow out{.step = row.natural(), .round = row.natural(), .train_loss = row.maybe_number()};
  out.batch_loss = row.maybe_number();
  out.start_loss = row.maybe_number();
  out.test_loss = row.maybe_number();
  out.test_accuracy = row.maybe_number();
  out.bytes_up = row.natural();
  out.bytes_down = row.natural();
  out.wall_seconds = row.number();
  out.digest = to_hex(row.bytes());
  out.virtual_seconds = row.maybe_number();
  return out;
}

NodeRow read_node(Statement& row) {
  NodeRow out{
      .round = row.natural(), .node = row.bytes(), .weight = row.natural(), .train_loss = row.maybe_number()};
  out.batch_loss = row.maybe_number();
  out.start_loss = row.maybe_number();
  out.seconds = row.maybe_number();
  out.digest = to_hex(row.bytes());
  out.metrics = row.bytes();
  if (const auto committed = row.maybe_natural()) out.committed = static_cast<std::int64_t>(*committed);
  return out;
}

Result<RunRow> read_run(const Database& database, Statement& row) {
  constexpr std::size_t kLongestShown = 80;
  RunRow run;
  run.id = row.bytes();
  if (!is_run_id(run.id))
    return damaged_store(database, fmt::format("the id of a run is \"{}\", not 8 hexadecimal digits",
                                               visible(run.id, kLongestShown)));
  run.created = row.bytes();
  const std::string status = row.bytes();
  const auto known = parse_run_status(status);
  if (!known) return damaged_store(database, fmt::format("run {} has status \"{}\"", run.id, status));
  run.status = *known;
  for (std::string* text :
       {&run.message, &run.name, &run.config, &run.config_digest, &run.data_digest, &run.problem,
        &run.mfl_version, &run.data, &run.model, &run.algorithm, &run.precision})
    *text = row.bytes();
  run.nodes = row.natural();
  run.eta = row.number();
  run.gamma = row.maybe_number();
  run.tau = row.maybe_natural();
  run.planned_steps = row.natural();
  run.load_seconds = row.number();
  run.owner = {row.bytes(), row.integer(), row.natural()};
  run.wall_seconds = row.number();
  run.warnings = read_warnings(row.bytes());
  run.sampled = row.integer() != 0;
  run.data_schema = row.bytes();
  run.drops = read_drops(row.bytes());
  if (const auto final_step = row.maybe_natural())
    run.summary = RunSummary{{*final_step, row.maybe_number(), row.maybe_number(), row.maybe_number()},
                             {row.natural(), row.maybe_number()},
                             row.natural(),
                             row.natural(),
                             row.natural(),
                             row.bytes(),
                             row.maybe_number(),
                             row.bytes()};
  return run;
}

std::string warnings_json_text(std::span<const RunWarning> warnings) {
  Json out = Json::array();
  for (const RunWarning& warning : warnings) out.push_back(warning_json(warning));
  return out.dump();
}

std::vector<RunWarning> read_warnings(std::string_view text) {
  std::vector<RunWarning> out;
  const Json list = Json::parse(text).value_or(Json());
  for (const Json& one : list.elements())
    out.push_back(
        {text_of(one, "id"), natural_of(one, "step"), text_of(one, "message"), text_of(one, "hint")});
  return out;
}

std::vector<RoundDrop> read_drops(std::string_view text) {
  std::vector<RoundDrop> out;
  const Json list = Json::parse(text).value_or(Json());
  for (const Json& one : list.elements())
    out.push_back(
        {text_of(one, "created"), natural_of(one, "first"), natural_of(one, "last"), text_of(one, "reason")});
  return out;
}

tl::unexpected<Error> Store::unknown(std::string_view id) const {
  return fail(ErrorCode::kBadConfig, fmt::format("there is no run \"{}\" in store {}", id, path().string()),
              "mfl runs list shows the runs");
}

Result<std::int64_t> Store::number_of(std::string_view id) const {
  MFL_TRY(Statement find, database_->prepare("SELECT number FROM runs WHERE id = ?"));
  MFL_TRY(const bool found, find.with(id).step());
  if (!found) return unknown(id);
  return find.integer();
}

Result<RunRow> Store::exact(std::string_view id) const {
  MFL_TRY(Statement find,
          database_->prepare(fmt::format("SELECT {}, test_metrics FROM runs WHERE id = ?", kRunColumns)));
  MFL_TRY(const bool found, find.with(id).step());
  if (!found) return unknown(id);
  return read_run(*database_, find);
}

Result<std::vector<RunRow>> Store::list(const RunFilter& filter) const {
  MFL_TRY(Statement rows,
          database_->prepare(fmt::format(
              "SELECT {}, NULL FROM runs WHERE (?1 = '' OR status = ?1) AND (?2 = '' OR name = ?2 OR (name > "
              "?2 || '/' AND name < ?2 || '0')) AND (?3 = '' OR model = ?3) AND (?4 = '' OR algorithm = ?4) "
              "ORDER BY number DESC LIMIT ?5",
              kRunColumns)));
  const std::string_view status = filter.status ? run_status_name(*filter.status) : "";
  const std::int64_t limit = filter.limit == 0 ? -1 : static_cast<std::int64_t>(filter.limit);
  rows.with(status, std::string_view(filter.name), std::string_view(filter.model),
            std::string_view(filter.algorithm), limit);
  std::vector<RunRow> runs;
  for (;;) {
    MFL_TRY(const bool more, rows.step());
    if (!more) return runs;
    MFL_TRY(RunRow run, read_run(*database_, rows));
    runs.push_back(std::move(run));
  }
}

namespace {

// Adds the choices of the run to its rounds, both in order.
Result<void> add_choices(const Database& database, std::int64_t run, std::vector<RoundRow>& rounds) {
  MFL_TRY(Statement rows,
          database.prepare("SELECT round, tau, rho, beta, delta, bound, step_seconds, round_seconds FROM "
                           "choices WHERE run = ? ORDER BY round"));
  rows.with(run);
  auto round = rounds.begin();
  for (;;) {
    MFL_TRY(const bool more, rows.step());
    if (!more) return {};
    const std::uint64_t number = rows.natural();
    const RoundChoice choice{.tau = rows.natural(),
                             .rho = rows.number(),
                             .beta = rows.number(),
                             .delta = rows.number(),
                             .bound = rows.number(),
                             .step_seconds = rows.number(),
                             .round_seconds = rows.number()};
    while (round != rounds.end() && round->round < number) ++round;
    if (round != rounds.end() && round->round == number) round->choice = choice;
  }
}

}  // namespace

Result<std::vector<RoundRow>> Store::rounds(std::string_view id) const {
  MFL_TRY(const std::int64_t number, number_of(id));
  MFL_TRY(Statement rows, database_->prepare(fmt::format("SELECT {} FROM rounds WHERE run = ? ORDER BY round",
                                                         kRoundColumns)));
  rows.with(number);
  std::vector<RoundRow> rounds;
  for (;;) {
    MFL_TRY(const bool more, rows.step());
    if (!more) break;
    rounds.push_back(read_round(rows));
  }
  MFL_CHECK(add_choices(*database_, number, rounds));
  return rounds;
}

Result<std::vector<RecordRow>> Store::records(std::string_view id) const {
  MFL_TRY(const std::int64_t number, number_of(id));
  MFL_TRY(Statement rows, database_->prepare(fmt::format("SELECT {} FROM records WHERE run = ? ORDER BY step",
                                                         kRecordColumns)));
  rows.with(number);
  std::vector<RecordRow> records;
  for (;;) {
    MFL_TRY(const bool more, rows.step());
    if (!more) return records;
    records.push_back(read_record(rows));
  }
}

Result<std::vector<NodeRow>> Store::nodes(std::string_view id, std::optional<std::uint64_t> round) const {
  MFL_TRY(const std::int64_t number, number_of(id));
  MFL_TRY(Statement rows,
          database_->prepare(fmt::format(
              "SELECT {} FROM nodes WHERE run = ?1 AND (?2 IS NULL OR round = ?2) ORDER BY round, node",
              kNodeColumns)));
  rows.with(number, round);
  std::vector<NodeRow> nodes;
  for (;;) {
    MFL_TRY(const bool more, rows.step());
    if (!more) return nodes;
    nodes.push_back(read_node(rows));
  }
}

// NaN is a blob in the table, and in SQLite's order every blob is above every number.
Result<std::optional<RoundRow>> Store::first_round_at(std::string_view id, double target_loss) const {
  MFL_TRY(const std::int64_t number, number_of(id));
  MFL_TRY(
      Statement find,
      database_->prepare(fmt::format(
          "SELECT {} FROM rounds WHERE run = ? AND train_loss <= ? ORDER BY round LIMIT 1", kRoundColumns)));
  if (std::isnan(target_loss)) return std::nullopt;
  MFL_TRY(const bool found, find.with(number, target_loss).step());
  if (!found) return std::nullopt;
  return read_round(find);
}

Result<std::optional<RunRow>> Store::find_done(std::string_view config_digest, std::string_view data_digest,
                                               std::string_view mfl_version) const {
  MFL_TRY(
      Statement find,
      database_->prepare(fmt::format(
          "SELECT {}, test_metrics FROM runs WHERE config_digest = ? AND data_digest = ? AND mfl_version = ? "
          "AND status = 'done' ORDER BY number DESC LIMIT 1",
          kRunColumns)));
  MFL_TRY(const bool found, find.with(config_digest, data_digest, mfl_version).step());
  if (!found) return std::nullopt;
  MFL_TRY(RunRow run, read_run(*database_, find));
  return run;
}

}  // namespace mfl
