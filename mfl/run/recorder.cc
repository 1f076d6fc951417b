#include "mfl/run/recorder.h"

namespace mfl {
namespace {

class StoreRecorder final : public Recorder {
 public:
  explicit StoreRecorder(Store& store) : store_(store) {}
  bool keeps() const override { return true; }
  Result<std::optional<std::string>> find_done(const RunSpec& spec) override {
    MFL_TRY(const auto done, store_.find_done(spec.config_digest, spec.data_digest, spec.mfl_version));
    return done ? std::optional(done->id) : std::nullopt;
  }
  Result<std::optional<Unfinished>> find_unfinished(const RunSpec& spec) override {
    MFL_TRY(const auto run, store_.find_unfinished(spec.config_digest, spec.data_digest, spec.mfl_version));
    if (!run) return std::nullopt;
    return read_unfinished(store_, run->id);
  }
  Result<void> continue_run(const Unfinished& run) override { return store_.rewind(run.id, run.round()); }
  Result<std::string> create_run(const RunSpec& spec) override { return store_.create_run(spec); }
  Result<void> append(std::string_view id, std::span<const RoundRow> rounds,
                      std::span<const RecordRow> records,
                      const std::optional<Checkpoint>& checkpoint) override {
    return store_.append(id, rounds, records, checkpoint);
  }
  Result<void> finish(std::string_view id, RunStatus status, std::string_view message,
                      const RunSummary& summary, double wall_seconds) override {
    return store_.finish(id, status, message, summary, wall_seconds);
  }
  void give_up(std::string_view id, std::string_view message) override {
    const auto run = store_.get(id);
    if (run && run->status == RunStatus::kRunning) (void)store_.set_status(id, RunStatus::kFailed, message);
  }

 private:
  Store& store_;
};

class NoRecorder final : public Recorder {
 public:
  bool keeps() const override { return false; }
  Result<std::optional<std::string>> find_done(const RunSpec& /*spec*/) override { return std::nullopt; }
  Result<std::optional<Unfinished>> find_unfinished(const RunSpec& /*spec*/) override { return std::nullopt; }
  Result<void> continue_run(const Unfinished& /*run*/) override { return {}; }
  Result<std::string> create_run(const RunSpec& /*spec*/) override { return std::string(); }
  Result<void> append(std::string_view /*id*/, std::span<const RoundRow> /*rounds*/,
                      std::span<const RecordRow> /*records*/,
                      const std::optional<Checkpoint>& /*checkpoint*/) override {
    return {};
  }
  Result<void> finish(std::string_view /*id*/, RunStatus /*status*/, std::string_view /*message*/,
                      const RunSummary& /*summary*/, double /*wall_seconds*/) override {
    return {};
  }
  void give_up(std::string_view /*id*/, std::string_view /*message*/) override {}
};

}  // namespace

std::unique_ptr<Recorder> ledger_of(Store& store) { return std::make_unique<StoreRecorder>(store); }
std::unique_ptr<Recorder> no_recorder() { return std::make_unique<NoRecorder>(); }

}  // namespace mfl
