#include "mfl/run/recorder.h"

#include <fmt/core.h>

#include <utility>

namespace mfl {
namespace {

class StoreRecorder final : public Recorder {
 public:
  explicit StoreRecorder(Store store) : store_(std::move(store)) {}
  bool keeps() const override { return true; }
  Result<std::optional<RecordedRun>> find(const RunSpec& spec, const Reuse& reuse) override {
    if (!reuse.run.empty()) return named(spec, reuse.run);
    if (reuse.finished) {
      MFL_TRY(const auto done, store_.find_done(spec.config_digest, spec.data_digest, spec.mfl_version));
      if (done) return RecordedRun{.finished = true, .run = {done->id}};
    }
    if (reuse.unfinished) {
      MFL_TRY(const auto run, store_.find_unfinished(spec.config_digest, spec.data_digest, spec.mfl_version));
      if (run) return stopped(run->id);
    }
    return std::nullopt;
  }
  Result<void> continue_run(const Unfinished& run) override { return store_.rewind(run.id, run.round()); }
  Result<std::string> create_run(const RunSpec& spec) override { return store_.create_run(spec); }
  Result<void> append(std::string_view id, std::span<const RoundRow> rounds,
                      std::span<const RecordRow> records, const std::optional<Checkpoint>& checkpoint,
                      std::span<const NodeRow> nodes) override {
    return store_.append(id, rounds, records, checkpoint, nodes);
  }
  Result<void> finish(std::string_view id, RunStatus status, std::string_view message,
                      const RunSummary& summary, double wall_seconds, const std::vector<RunWarning>& further,
                      const std::optional<FinalModel>& model) override {
    return store_.finish(id, status, message, summary, wall_seconds, further, model);
  }
  void give_up(std::string_view id, std::string_view message) override {
    const auto run = store_.get(id);
    if (run && run->status == RunStatus::kRunning) (void)store_.set_status(id, RunStatus::kFailed, message);
  }
  Result<RunRow> get(std::string_view id) const override { return store_.get(id); }

 private:
  Result<std::optional<RecordedRun>> named(const RunSpec& spec, const std::string& id) {
    MFL_TRY(const RunRow run, store_.get(id));
    if (run.data_digest != spec.data_digest)
      return fail(
          ErrorCode::kBadData,
          fmt::format("cannot resume run {}: the training data has changed since the run started", id),
          "restore the data, or start a new run");
    return stopped(id);
  }
  Result<std::optional<RecordedRun>> stopped(const std::string& id) const {
    MFL_TRY(Unfinished run, read_unfinished(store_, id));
    return RecordedRun{.finished = false, .run = std::move(run)};
  }

  Store store_;
};

class NoRecorder final : public Recorder {
 public:
  bool keeps() const override { return false; }
  Result<std::optional<RecordedRun>> find(const RunSpec& /*spec*/, const Reuse& /*reuse*/) override {
    return std::nullopt;
  }
  Result<void> continue_run(const Unfinished& /*run*/) override { return {}; }
  Result<std::string> create_run(const RunSpec& /*spec*/) override { return std::string(); }
  Result<void> append(std::string_view /*id*/, std::span<const RoundRow> /*rounds*/,
                      std::span<const RecordRow> /*records*/, const std::optional<Checkpoint>& /*checkpoint*/,
                      std::span<const NodeRow> /*nodes*/) override {
    return {};
  }
  Result<void> finish(std::string_view /*id*/, RunStatus /*status*/, std::string_view /*message*/,
                      const RunSummary& /*summary*/, double /*wall_seconds*/,
                      const std::vector<RunWarning>& /*further*/,
                      const std::optional<FinalModel>& /*model*/) override {
    return {};
  }
  void give_up(std::string_view /*id*/, std::string_view /*message*/) override {}
  Result<RunRow> get(std::string_view /*id*/) const override { return RunRow{}; }
};

}  // namespace

Result<std::unique_ptr<Recorder>> store_recorder(const std::filesystem::path& store) {
  MFL_TRY(Store opened, Store::open(store));
  return std::make_unique<StoreRecorder>(std::move(opened));
}

std::unique_ptr<Recorder> no_recorder() { return std::make_unique<NoRecorder>(); }

Result<RunRow> find_stopped(const std::filesystem::path& store, std::string_view run) {
  MFL_TRY(const Store opened, Store::open(store, StoreOptions{.read_only = true}));
  MFL_TRY(RunRow row, opened.get(run));
  if (row.status == RunStatus::kDone || row.status == RunStatus::kDiverged)
    return fail(ErrorCode::kBadConfig,
                fmt::format("run {} is {}: there is nothing to resume", row.id, run_status_name(row.status)),
                fmt::format("see: mfl runs show {}", row.id));
  return row;
}

}  // namespace mfl
