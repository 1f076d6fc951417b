#include <fmt/core.h>

#include <ctime>
#include <random>

#include "mfl/record/convergence.h"
#include "mfl/record/rows.h"
#include "mfl/record/state_files.h"
#include "mfl/record/store.h"

namespace mfl {
namespace {

constexpr int kIdAttempts = 16;
// Of a checkpoint or the weights of a model.
constexpr std::size_t kLarge = std::size_t{1} << 20U;

std::string utc_now() { return utc_text(std::time(nullptr)); }

std::string random_id() {
  std::random_device device;
  return fmt::format("{:08x}", device() & 0xffffffffU);
}

std::string_view view(const std::string& text) { return text; }

std::optional<std::string_view> maybe_text(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(view(text));
}

std::optional<Blob> maybe_blob(const std::string& bytes) {
  return bytes.empty() ? std::nullopt : std::optional(Blob{bytes});
}

Result<void> insert_choice(const Database& database, std::int64_t run, std::uint64_t round,
                           const RoundChoice& choice) {
  MFL_TRY(Statement insert,
          database.prepare("INSERT INTO choices (run, round, tau, rho, beta, delta, bound, step_seconds, "
                           "round_seconds) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"));
  return insert
      .with(run, round, choice.tau, choice.rho, choice.beta, choice.delta, choice.bound, choice.step_seconds,
            choice.round_seconds)
      .run();
}

Result<void> insert_rounds(const Database& database, std::int64_t run, std::span<const RoundRow> rounds) {
  MFL_TRY(
      Statement insert,
      database.prepare("INSERT INTO rounds (run, round, step, train_loss, batch_loss, start_loss, bytes_up, "
                       "bytes_down, digest, virtual_seconds, round_seconds, slowest_seconds, idle_share, "
                       "chosen, missed, abandoned) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
  for (const RoundRow& row : rounds) {
    MFL_TRY(const std::string digest, digest_bytes(row.digest));
    const auto of_time = [&]<class V>(V RoundTime::*what) {
      return row.time ? std::optional<V>(*row.time.*what) : std::nullopt;
    };
    MFL_CHECK(insert
                  .with(run, row.round, row.step, row.train_loss, row.batch_loss, row.start_loss,
                        row.bytes_up, row.bytes_down, maybe_blob(digest), of_time(&RoundTime::total_seconds),
                        of_time(&RoundTime::seconds), of_time(&RoundTime::slowest_seconds),
                        of_time(&RoundTime::idle_share), of_time(&RoundTime::chosen),
                        of_time(&RoundTime::missed), of_time(&RoundTime::abandoned))
                  .run());
    if (row.choice) MFL_CHECK(insert_choice(database, run, row.round, *row.choice));
  }
  return {};
}

Result<void> insert_records(const Database& database, std::int64_t run, std::span<const RecordRow> records) {
  if (records.empty()) return {};
  MFL_TRY(Statement insert, database.prepare("INSERT INTO records (run, step, round, train_loss, batch_loss, "
                                             "start_loss, test_loss, test_accuracy, "
                                             "bytes_up, bytes_down, wall_seconds, digest, virtual_seconds) "
                                             "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
  for (const RecordRow& row : records) {
    MFL_TRY(const std::string digest, digest_bytes(row.digest));
    MFL_CHECK(insert
                  .with(run, row.step, row.round, row.train_loss, row.batch_loss, row.start_loss,
                        row.test_loss, row.test_accuracy, row.bytes_up, row.bytes_down, row.wall_seconds,
                        maybe_blob(digest), row.virtual_seconds)
                  .run());
  }
  return {};
}

Result<void> insert_nodes(const Database& database, std::int64_t run, std::span<const NodeRow> nodes) {
  if (nodes.empty()) return {};
  MFL_TRY(Statement insert, database.prepare("INSERT INTO nodes (run, round, node, weight, train_loss, "
                                             "batch_loss, start_loss, seconds, digest, metrics, committed) "
                                             "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
  for (const NodeRow& row : nodes) {
    MFL_TRY(const std::string digest, digest_bytes(row.digest));
    MFL_CHECK(insert
                  .with(run, row.round, view(row.node), row.weight, row.train_loss, row.batch_loss,
                        row.start_loss, row.seconds, maybe_blob(digest), maybe_text(row.metrics),
                        row.committed)
                  .run());
  }
  return {};
}

// If a row of the table has no bytes, they are in a file (state_files.h).
Result<void> insert_checkpoint(const Database& database, std::string_view id, std::int64_t run,
                               const Checkpoint& checkpoint, std::size_t keep) {
  MFL_TRY(
      Statement insert,
      database.prepare("INSERT OR REPLACE INTO checkpoints (run, round, sha256, blob) VALUES (?, ?, ?, ?)"));
  const std::string sha256 = sha256_bytes(checkpoint.blob);
  const bool large = checkpoint.blob.size() >= kLarge;
  if (large) MFL_CHECK(StateFiles(database.path()).write(id, checkpoint.round, checkpoint.blob));
  MFL_CHECK(
      insert.with(run, checkpoint.round, Blob{sha256}, Blob{large ? std::string_view() : checkpoint.blob})
          .run());
  MFL_TRY(Statement prune,
          database.prepare("DELETE FROM checkpoints WHERE run = ?1 AND round NOT IN "
                           "(SELECT round FROM checkpoints WHERE run = ?1 ORDER BY round DESC LIMIT ?2)"));
  return prune.with(run, static_cast<std::int64_t>(keep)).run();
}

// The same of a model.
Result<void> insert_model(const Database& database, std::string_view id, std::int64_t run,
                          const FinalModel& model) {
  MFL_TRY(Statement insert,
          database.prepare(
              "INSERT OR REPLACE INTO models (run, tensors, scale, sha256, weights) VALUES (?, ?, ?, ?, ?)"));
  const std::string sha256 = sha256_bytes(model.weights);
  const bool large = model.weights.size() >= kLarge;
  if (large) MFL_CHECK(StateFiles(database.path()).write_model(id, model.weights));
  return insert
      .with(run, view(model.tensors), model.scale, Blob{sha256},
            Blob{large ? std::string_view() : model.weights})
      .run();
}

}  // namespace

Result<std::string> Store::create_run(const RunSpec& spec) {
  const std::string created = utc_now();
  const Owner owner = this_process();
  MFL_TRY(Statement insert,
          database_->prepare(
              "INSERT INTO runs (id, created, status, message, name, config, config_digest, data_digest, "
              "problem, mfl_version, data, model, algorithm, precision, nodes, eta, gamma, tau, "
              "planned_steps, load_seconds, host, pid, process_start, data_schema, sampled, wall_seconds) "
              "VALUES (?, ?, "
              "'running', '', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0.0)"));
  for (int attempt = 0;; ++attempt) {
    const std::string id = random_id();
    const auto inserted =
        insert
            .with(view(id), view(created), view(spec.name), view(spec.config), view(spec.config_digest),
                  view(spec.data_digest), view(spec.problem), view(spec.mfl_version), view(spec.data),
                  view(spec.model), view(spec.algorithm), view(spec.precision), spec.nodes, spec.eta,
                  spec.gamma, spec.tau, spec.planned_steps, spec.load_seconds, view(owner.host), owner.pid,
                  owner.start, view(spec.data_schema), std::int64_t{spec.sampled})
            .run();
    if (inserted) return id;
    if (!database_->last_was_constraint() || attempt == kIdAttempts)
      return tl::unexpected<Error>(inserted.error());
  }
}

Result<FoundRun> Store::find_or_create(const RunSpec& spec) {
  MFL_TRY(Transaction transaction, Transaction::begin(*database_));
  MFL_TRY(auto newest, list({.limit = 1}));
  if (!newest.empty()) {
    RunRow& run = newest.front();
    if (run.config_digest == spec.config_digest) return FoundRun{std::move(run), false};
    if (run.status != RunStatus::kDone && run.status != RunStatus::kDiverged)
      return fail(ErrorCode::kBadConfig,
                  fmt::format("{} holds run {}, which has another configuration and has not ended",
                              path().string(), run.id),
                  "end that run first, or choose another folder with --state");
  }
  MFL_TRY(const std::string id, create_run(spec));
  MFL_TRY(RunRow run, exact(id));
  MFL_CHECK(transaction.commit());
  return FoundRun{std::move(run), true};
}

Result<void> Store::append(std::string_view id, std::span<const RoundRow> rounds,
                           std::span<const RecordRow> records, const std::optional<Checkpoint>& checkpoint,
                           std::span<const NodeRow> nodes) {
  MFL_TRY(Transaction transaction, Transaction::begin(*database_));
  MFL_TRY(const std::int64_t number, number_of(id));
  MFL_CHECK(insert_rounds(*database_, number, rounds));
  MFL_CHECK(insert_records(*database_, number, records));
  MFL_CHECK(insert_nodes(*database_, number, nodes));
  if (checkpoint) MFL_CHECK(insert_checkpoint(*database_, id, number, *checkpoint, keep_checkpoints_));
  MFL_CHECK(transaction.commit());
  if (checkpoint && checkpoint->blob.size() >= kLarge) has_files_ = true;
  if (checkpoint && has_files_) (void)drop_old_files(id, number);  // what stays is dropped the next time
  return {};
}

Result<void> Store::drop_old_files(std::string_view id, std::int64_t number) {
  MFL_TRY(const auto rounds, checkpoint_rounds(number));
  MFL_TRY(const bool with_model, has_model(number));
  StateFiles(path()).keep_only(id, rounds, with_model);
  return {};
}

Result<std::vector<RunWarning>> Store::judge(std::string_view id, RunStatus status) const {
  MFL_TRY(const RunRow run, exact(id));
  MFL_TRY(const auto rounds, this->rounds(id));
  return convergence_warnings(rounds, status, run.sampled);
}

Result<void> Store::finish(std::string_view id, RunStatus status, std::string_view message,
                           const std::optional<RunSummary>& summary, double wall_seconds,
                           const std::vector<RunWarning>& further, const std::optional<FinalModel>& model) {
  MFL_TRY(Transaction transaction, Transaction::begin(*database_));
  MFL_TRY(const std::int64_t number, number_of(id));
  MFL_TRY(
      Statement update,
      database_->prepare(
          "UPDATE runs SET status = ?, message = ?, wall_seconds = ?, final_step = ?, "
          "final_train_loss = ?, final_test_loss = ?, final_test_accuracy = ?, best_step = ?, "
          "best_train_loss = ?, rounds = ?, bytes_up = ?, bytes_down = ?, digest = ?, virtual_seconds = ?, "
          "warnings = ?, test_metrics = ? WHERE number = ?"));
  const std::string_view name = run_status_name(status);
  std::string warnings;
  if (summary) {
    const auto& [final, best, rounds, bytes_up, bytes_down, digest, virtual_seconds, test_metrics] = *summary;
    MFL_TRY(auto judged, judge(id, status));
    judged.insert(judged.end(), further.begin(), further.end());
    warnings = warnings_json_text(judged);
    update.with(name, message, wall_seconds, final.step, final.train_loss, final.test_loss,
                final.test_accuracy, best.step, best.train_loss, rounds, bytes_up, bytes_down, view(digest),
                virtual_seconds, view(warnings), maybe_text(test_metrics), number);
  } else {
    constexpr auto none = std::nullopt;
    update.with(name, message, wall_seconds, none, none, none, none, none, none, none, none, none, none, none,
                none, none, number);
  }
  MFL_CHECK(update.run());
  if (model) MFL_CHECK(insert_model(*database_, id, number, *model));
  MFL_CHECK(transaction.commit());
  if (model && model->weights.size() >= kLarge) has_files_ = true;
  return {};
}

Result<void> Store::set_status(std::string_view id, RunStatus status, std::string_view message) {
  MFL_TRY(Statement update, database_->prepare("UPDATE runs SET status = ?, message = ? WHERE id = ?"));
  MFL_CHECK(update.with(run_status_name(status), message, id).run());
  if (database_->changes() == 0) return unknown(id);
  return {};
}

Result<void> Store::set_data_schema(std::string_view id, std::string_view schema, double eta) {
  MFL_TRY(Statement update,
          database_->prepare("UPDATE runs SET data_schema = ?1, eta = iif(?2 > 0, ?2, eta) WHERE id = ?3"));
  MFL_CHECK(update.with(schema, eta, id).run());
  if (database_->changes() == 0) return unknown(id);
  return {};
}

Result<void> Store::refuse_if_going(std::string_view id, std::string_view doing, bool unless_own) const {
  MFL_TRY(const RunRow run, exact(id));
  if (const Owner self = this_process();
      unless_own && run.owner.host == self.host && run.owner.pid == self.pid && run.owner.start == self.start)
    return {};
  if (run.status == RunStatus::kRunning && owner_alive(run))
    return fail(ErrorCode::kRunFailed,
                fmt::format("cannot {} run {}: process {} is still computing it", doing, id, run.owner.pid),
                "wait until it has finished, or stop it with Ctrl-C");
  return {};
}

Result<void> Store::mark_drop(std::int64_t number, std::int64_t kept, const RewindOptions& options) const {
  const std::string created = utc_now();
  MFL_TRY(
      Statement mark,
      database_->prepare("INSERT INTO drops (run, number, created, first_round, last_round, reason) SELECT "
                         "?1, 1 + coalesce(max(number), 0), ?2, ?3, ?4, ?5 FROM drops WHERE run = ?1"));
  MFL_CHECK(mark.with(number, view(created), kept + 1, options.last_round, view(options.reason)).run());
  MFL_TRY(
      Statement keep,
      database_->prepare(
          "INSERT INTO dropped_rounds (run, number, round, step, train_loss, batch_loss, start_loss, "
          "bytes_up, bytes_down, digest) SELECT run, (SELECT max(number) FROM drops WHERE run = ?1), round, "
          "step, train_loss, batch_loss, start_loss, bytes_up, bytes_down, digest FROM rounds WHERE run = ?1 "
          "AND round > ?2"));
  return keep.with(number, kept).run();
}

Result<void> Store::rewind(std::string_view id, std::optional<std::uint64_t> round,
                           const RewindOptions& options) {
  MFL_TRY(Transaction transaction, Transaction::begin(*database_));
  MFL_CHECK(refuse_if_going(id, "resume", options.owned));
  MFL_TRY(const std::int64_t number, number_of(id));
  const std::int64_t kept = round ? static_cast<std::int64_t>(*round) : -1;
  if (!options.reason.empty()) MFL_CHECK(mark_drop(number, kept, options));
  for (const std::string_view sql :
       {"DELETE FROM records WHERE run = ?1 AND (round > ?2 OR step > (SELECT step FROM rounds WHERE run = "
        "?1 AND round = ?2))",
        "DELETE FROM rounds WHERE run = ?1 AND round > ?2", "DELETE FROM nodes WHERE run = ?1 AND round > ?2",
        "DELETE FROM choices WHERE run = ?1 AND round > ?2",
        "DELETE FROM checkpoints WHERE run = ?1 AND round > ?2"}) {
    MFL_TRY(Statement forget, database_->prepare(sql));
    MFL_CHECK(forget.with(number, kept).run());
  }
  MFL_TRY(Statement forget_model, database_->prepare("DELETE FROM models WHERE run = ?"));
  MFL_CHECK(forget_model.with(number).run());
  MFL_TRY(Statement update,
          database_->prepare(
              "UPDATE runs SET status = 'running', message = '', host = ?, pid = ?, process_start = ?, "
              "final_step = NULL, final_train_loss = NULL, final_test_loss = NULL, final_test_accuracy = "
              "NULL, best_step = NULL, best_train_loss = NULL, rounds = NULL, bytes_up = NULL, bytes_down = "
              "NULL, digest = NULL, virtual_seconds = NULL, warnings = NULL, test_metrics = NULL WHERE "
              "number = ?"));
  const Owner owner = this_process();
  MFL_CHECK(update.with(view(owner.host), owner.pid, owner.start, number).run());
  MFL_CHECK(transaction.commit());
  (void)drop_old_files(id, number);
  return {};
}

Result<void> Store::forget_row(std::string_view id, std::uint64_t round) {
  MFL_TRY(Transaction transaction, Transaction::begin(*database_));
  MFL_TRY(const std::int64_t number, number_of(id));
  for (const std::string_view sql :
       {"DELETE FROM records WHERE run = ? AND round = ?", "DELETE FROM rounds WHERE run = ? AND round = ?",
        "DELETE FROM choices WHERE run = ? AND round = ?"}) {
    MFL_TRY(Statement forget, database_->prepare(sql));
    MFL_CHECK(forget.with(number, round).run());
  }
  return transaction.commit();
}

Result<void> Store::remove(std::span<const std::string> ids) {
  MFL_TRY(Transaction transaction, Transaction::begin(*database_));
  MFL_TRY(Statement forget, database_->prepare("DELETE FROM runs WHERE id = ?"));
  for (const std::string& id : ids) {
    MFL_CHECK(refuse_if_going(id, "delete"));
    MFL_CHECK(forget.with(view(id)).run());
  }
  MFL_CHECK(transaction.commit());
  StateFiles(path()).remove(ids);
  return {};
}

}  // namespace mfl
