#include <fmt/core.h>

#include <charconv>
#include <cmath>

#include "mfl/base/digest.h"
#include "mfl/base/json.h"
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
  RoundRow out{.round = row.natural(),
               .step = row.natural(),
               .train_loss = row.number(),
               .bytes_up = row.natural(),
               .bytes_down = row.natural(),
               .digest = to_hex(row.bytes())};
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
  return {.step = row.natural(),
          .round = row.natural(),
          .train_loss = row.number(),
          .test_loss = row.maybe_number(),
          .test_accuracy = row.maybe_number(),
          .bytes_up = row.natural(),
          .bytes_down = row.natural(),
          .wall_seconds = row.number(),
          .digest = to_hex(row.bytes()),
          .virtual_seconds = row.maybe_number()};
}

NodeRow read_node(Statement& row) {
  return {.round = row.natural(),
          .node = row.bytes(),
          .weight = row.natural(),
          .loss = row.number(),
          .seconds = row.maybe_number(),
          .digest = to_hex(row.bytes()),
          .metrics = row.bytes()};
}

Result<RunRow> read_run(const Database& database, Statement& row) {
  RunRow run;
  run.id = row.bytes();
  run.created = row.bytes();
  const std::string status = row.bytes();
  const auto known = parse_run_status(status);
  if (!known)
    return fail(ErrorCode::kRunFailed,
                fmt::format("store {} is damaged: run {} has status \"{}\"", database.path().string(), run.id,
                            status),
                "restore it from a backup, or move it away and start a new one");
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
    run.summary = RunSummary{{*final_step, row.number(), row.maybe_number(), row.maybe_number()},
                             {row.natural(), row.number()},
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
              "SELECT {}, NULL FROM runs WHERE (?1 = '' OR status = ?1) AND (?2 = '' OR name = ?2 OR "
              "(name > ?2 || '/' AND name < ?2 || '0')) "
              "AND (?3 = '' OR model = ?3) AND (?4 = '' OR algorithm = ?4) "
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

Result<std::vector<NodeRow>> Store::nodes(std::string_view id) const {
  MFL_TRY(const std::int64_t number, number_of(id));
  MFL_TRY(Statement rows, database_->prepare(fmt::format(
                              "SELECT {} FROM nodes WHERE run = ? ORDER BY round, node", kNodeColumns)));
  rows.with(number);
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
