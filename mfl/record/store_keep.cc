#include <fmt/core.h>

#include <algorithm>

#include "mfl/record/rows.h"
#include "mfl/record/state_files.h"
#include "mfl/record/store.h"

namespace mfl {

Result<std::vector<std::uint64_t>> Store::checkpoint_rounds(std::int64_t number) const {
  std::vector<std::uint64_t> rounds;
  MFL_TRY(Statement list,
          database_->prepare("SELECT round FROM checkpoints WHERE run = ? ORDER BY round DESC"));
  list.with(number);
  for (;;) {
    MFL_TRY(const bool more, list.step());
    if (!more) return rounds;
    rounds.push_back(list.natural());
  }
}

Result<std::vector<std::uint64_t>> Store::kept_rounds(std::string_view id) const {
  MFL_TRY(const std::int64_t number, number_of(id));
  return checkpoint_rounds(number);
}

Result<std::optional<Checkpoint>> Store::read_checkpoint(std::string_view id, std::int64_t number,
                                                         std::uint64_t round) const {
  MFL_TRY(Statement read,
          database_->prepare("SELECT sha256, blob FROM checkpoints WHERE run = ? AND round = ?"));
  const auto found = read.with(number, round).step();
  if (!found && !database_->last_was_corrupt()) return tl::unexpected<Error>(found.error());
  if (!found || !*found) return std::nullopt;
  const std::string sha256 = read.bytes();
  Checkpoint checkpoint{round, read.bytes(), 0};
  if (checkpoint.blob.empty()) checkpoint.blob = StateFiles(path()).read(id, round).value_or("");
  if (sha256_bytes(checkpoint.blob) != sha256) return std::nullopt;
  return checkpoint;
}

Result<std::optional<Checkpoint>> Store::checkpoint(std::string_view id, std::uint64_t round) const {
  MFL_TRY(const std::int64_t number, number_of(id));
  return read_checkpoint(id, number, round);
}

Result<std::optional<Checkpoint>> Store::latest_checkpoint(std::string_view id) const {
  MFL_TRY(const std::int64_t number, number_of(id));
  MFL_TRY(const auto generations, checkpoint_rounds(number));
  if (generations.empty()) return std::nullopt;
  std::uint64_t damaged = 0;
  for (const std::uint64_t round : generations) {
    MFL_TRY(auto checkpoint, read_checkpoint(id, number, round));
    if (checkpoint) {
      checkpoint->damaged = damaged;
      return checkpoint;
    }
    ++damaged;
  }
  return fail(
      ErrorCode::kRunFailed,
      fmt::format("store {} is damaged: no checkpoint of run {} matches its checksum", path().string(), id),
      "start the run again without --resume");
}

Result<bool> Store::has_model(std::int64_t number) const {
  MFL_TRY(Statement find, database_->prepare("SELECT 1 FROM models WHERE run = ?"));
  return find.with(number).step();
}

Result<std::optional<FinalModel>> Store::model(std::string_view id) const {
  MFL_TRY(const std::int64_t number, number_of(id));
  MFL_TRY(Statement read,
          database_->prepare("SELECT tensors, scale, sha256, weights FROM models WHERE run = ?"));
  MFL_TRY(const bool found, read.with(number).step());
  if (!found) return std::nullopt;
  FinalModel model;
  model.tensors = read.bytes();
  model.scale = read.maybe_number();
  const std::string sha256 = read.bytes();
  model.weights = read.bytes();
  if (model.weights.empty()) model.weights = StateFiles(path()).read_model(id).value_or("");
  if (sha256_bytes(model.weights) != sha256)
    return fail(ErrorCode::kRunFailed,
                fmt::format("store {} is damaged: the model of run {} does not match its checksum",
                            path().string(), id),
                "restore the store from a backup, or run it again");
  return model;
}

Result<void> Store::check_structure() const {
  MFL_TRY(std::string found, database_->text("PRAGMA quick_check(1)"));
  if (found == "ok") return {};
  std::ranges::replace(found, '\n', ' ');
  return fail(ErrorCode::kRunFailed, fmt::format("store {} is damaged: {}", path().string(), found),
              "restore it from a backup, or move it away and start a new one");
}

Result<void> Store::check_in_place() const { return database_->check_in_place(); }

Result<void> Store::fold_log() const {
  database_->be_patient(false);
  const auto busy = database_->integer("PRAGMA wal_checkpoint(TRUNCATE)");
  const bool locked = !busy && database_->last_was_busy();
  database_->be_patient(true);
  return busy || locked ? Result<void>{} : tl::unexpected<Error>(busy.error());
}

void Store::keep_log(bool keep) const { database_->keep_log_on_close(keep); }

}  // namespace mfl
