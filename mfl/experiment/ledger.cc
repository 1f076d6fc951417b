#include "mfl/experiment/ledger.h"

namespace mfl {
namespace {

class StoreLedger final : public Ledger {
 public:
  explicit StoreLedger(Store& store) : store_(store) {}
  bool keeps() const override { return true; }
  Result<void> append(std::string_view id, std::span<const RoundRow> rounds,
                      std::span<const RecordRow> records,
                      const std::optional<Checkpoint>& checkpoint) override {
    return store_.append(id, rounds, records, checkpoint);
  }
  Result<void> finish(std::string_view id, RunStatus status, std::string_view message,
                      const RunSummary& summary, double wall_seconds) override {
    return store_.finish(id, status, message, summary, wall_seconds);
  }

 private:
  Store& store_;
};

class NoLedger final : public Ledger {
 public:
  bool keeps() const override { return false; }
  Result<void> append(std::string_view /*id*/, std::span<const RoundRow> /*rounds*/,
                      std::span<const RecordRow> /*records*/,
                      const std::optional<Checkpoint>& /*checkpoint*/) override {
    return {};
  }
  Result<void> finish(std::string_view /*id*/, RunStatus /*status*/, std::string_view /*message*/,
                      const RunSummary& /*summary*/, double /*wall_seconds*/) override {
    return {};
  }
};

}  // namespace

std::unique_ptr<Ledger> ledger_of(Store& store) { return std::make_unique<StoreLedger>(store); }
std::unique_ptr<Ledger> no_ledger() { return std::make_unique<NoLedger>(); }

}  // namespace mfl
