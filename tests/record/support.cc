#include "tests/record/support.h"

#include <fmt/core.h>
#include <sqlite3.h>

#include <bit>
#include <stdexcept>

#include "mfl/base/digest.h"
#include "mfl/record/export.h"

namespace mfl::test {

RunSpec spec(const std::string& algorithm) {
  RunSpec spec;
  spec.name = "try";
  spec.config = "[model]\nname = \"svm\"\n";
  spec.config_digest = "c0";
  spec.data_digest = "d0";
  spec.problem = "p0";
  spec.mfl_version = "0.1.0";
  spec.data = "mnist";
  spec.model = "svm";
  spec.algorithm = algorithm;
  spec.precision = "f32";
  spec.nodes = 4;
  spec.eta = 0.002;
  if (algorithm == "mfl") spec.gamma = 0.5;
  spec.tau = 4;
  spec.planned_steps = 1000;
  spec.load_seconds = 0.125;
  return spec;
}

std::string digest(std::uint64_t n) { return sha256_hex(fmt::format("{}", n)); }

std::vector<RoundRow> rounds(std::uint64_t first, std::uint64_t last) {
  std::vector<RoundRow> rows;
  for (std::uint64_t r = first; r <= last; ++r)
    rows.push_back({r, 4 * r, 1.0 / static_cast<double>(1 + r), 100 * r, 200 * r, digest(r)});
  return rows;
}

std::vector<RecordRow> records(std::uint64_t first, std::uint64_t last) {
  std::vector<RecordRow> rows;
  for (std::uint64_t r = first; r <= last; ++r) {
    RecordRow row{4 * r,   r,       1.0 / static_cast<double>(1 + r), {},       {},
                  100 * r, 200 * r, 0.5 * static_cast<double>(r),     digest(r)};
    if (r % 2 == 0) row.test_loss = 0.1, row.test_accuracy = 0.9;
    rows.push_back(row);
  }
  return rows;
}

RunSummary summary(double loss) {
  return {{1000, loss, 0.3, 0.875}, {992, loss / 2}, 250, 25000, 50000, digest(250)};
}

bool same_bits(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

namespace {
bool same_optional(const std::optional<double>& a, const std::optional<double>& b) {
  return a.has_value() == b.has_value() && (!a || mfl::test::same_bits(*a, *b));
}
bool same_losses(const Losses& a, const Losses& b) {
  return same_optional(a.train_loss, b.train_loss) && same_optional(a.batch_loss, b.batch_loss) &&
         same_optional(a.start_loss, b.start_loss);
}
}  // namespace

bool same(const RoundRow& a, const RoundRow& b) {
  return a.round == b.round && a.step == b.step && same_losses(a.losses(), b.losses()) &&
         a.bytes_up == b.bytes_up && a.bytes_down == b.bytes_down && a.digest == b.digest && a.time == b.time;
}

bool same(const RecordRow& a, const RecordRow& b) {
  return a.step == b.step && a.round == b.round && same_losses(a.losses(), b.losses()) &&
         same_optional(a.test_loss, b.test_loss) && same_optional(a.test_accuracy, b.test_accuracy) &&
         a.bytes_up == b.bytes_up && a.bytes_down == b.bytes_down &&
         same_bits(a.wall_seconds, b.wall_seconds) && a.digest == b.digest &&
         same_optional(a.virtual_seconds, b.virtual_seconds);
}

std::string contents(const std::filesystem::path& store) {
  const Store opened = Store::open(store, {.read_only = true}).value();
  std::vector<RunExport> runs;
  std::string checkpoints;
  const auto listed = opened.list().value();
  for (const RunRow& run : listed) {
    runs.push_back(load_run(opened, run.id, true, true).value());
    if (const auto kept = opened.latest_checkpoint(run.id).value())
      checkpoints += fmt::format("{} {} {}\n", run.id, kept->round, sha256_hex(kept->blob));
  }
  return export_json_text(runs) + checkpoints;
}

Connection::Connection(const std::filesystem::path& path) {
  if (sqlite3_open(path.c_str(), &connection_) != SQLITE_OK)
    throw std::runtime_error("cannot open " + path.string());
}
Connection::~Connection() { sqlite3_close(connection_); }

void Connection::run(const std::string& sql) {
  if (sqlite3_exec(connection_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
    throw std::runtime_error(sql + ": " + sqlite3_errmsg(connection_));
}

std::int64_t Connection::integer(const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(connection_, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK ||
      sqlite3_step(statement) != SQLITE_ROW) {
    sqlite3_finalize(statement);
    throw std::runtime_error(sql + ": " + sqlite3_errmsg(connection_));
  }
  const std::int64_t value = sqlite3_column_int64(statement, 0);
  sqlite3_finalize(statement);
  return value;
}

}  // namespace mfl::test
