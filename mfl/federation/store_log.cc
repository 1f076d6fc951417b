#include "mfl/federation/store_log.h"

#include <fmt/core.h>

#include <cmath>
#include <utility>

namespace mfl {

StoreLog::StoreLog(Store& store, std::string run_id, StoreLogOptions options)
    : store_(store),
      run_id_(std::move(run_id)),
      options_(std::move(options)),
      recorded_(options_.last_step) {}

double StoreLog::seconds() const {
  return options_.wall_before +
         std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

std::vector<RecordRow> StoreLog::records_of(const RoundRow& row,
                                            const std::shared_ptr<const std::string>& vectors, bool always) {
  const std::uint64_t every = options_.record_every;
  const bool passed = row.step == 0 || (recorded_ && row.step / every > *recorded_ / every);
  recorded_ = row.step;
  if (!passed && !always) return {};
  RecordRow record{row.step, row.round, row.train_loss, {}, {}, row.bytes_up, row.bytes_down, 0, row.digest};
  if (options_.test && vectors && std::isfinite(row.train_loss)) {
    const TestRow test = options_.test(*vectors);
    record.test_loss = test.loss;
    record.test_accuracy = test.accuracy;
    last_test_ = test;
  }
  record.wall_seconds = seconds();
  return {std::move(record)};
}

Result<void> StoreLog::commit(const CommittedRound& round) {
  const auto records = records_of(round.closed, round.vectors, false);
  // First, and on its own: a schema without a round binds nobody to anything else than the round would.
  if (!round.data_schema.empty()) MFL_CHECK(store_.set_data_schema(run_id_, round.data_schema));
  return store_.append(run_id_, std::span(&round.closed, 1), records, Checkpoint{round.round, round.blob, 0});
}

Result<void> StoreLog::finish(const Ending& ending) {
  const auto records = records_of(ending.last, ending.vectors, true);
  RunSummary summary = ending.summary;
  summary.final.test_loss = records.front().test_loss;
  summary.final.test_accuracy = records.front().test_accuracy;
  MFL_CHECK(store_.append(run_id_, std::span(&ending.last, 1), records));
  return store_.finish(run_id_, ending.status, ending.message, summary, seconds());
}

template <class T>
Result<std::optional<Resumption<T>>> resume_rounds(Store& store, const std::string& run_id) {
  MFL_TRY(const auto checkpoint, store.latest_checkpoint(run_id));
  if (!checkpoint) {
    MFL_CHECK(store.rewind(run_id, std::nullopt));
    return std::nullopt;
  }
  auto round = decode_round<T>(checkpoint->blob);
  if (!round) return fail_because(round.error(), fmt::format("cannot continue run {}", run_id));
  MFL_CHECK(store.rewind(run_id, checkpoint->round));
  // The row of the state itself comes with the next round: its loss is not known yet.
  MFL_CHECK(store.forget_row(run_id, checkpoint->round));
  return *std::move(round);
}

template Result<std::optional<Resumption<float>>> resume_rounds(Store&, const std::string&);
template Result<std::optional<Resumption<double>>> resume_rounds(Store&, const std::string&);

}  // namespace mfl
