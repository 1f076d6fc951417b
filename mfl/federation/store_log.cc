#include "mfl/federation/store_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <utility>

namespace mfl {
namespace {

std::string_view checkpoint_digest(std::string_view blob) {
  constexpr std::size_t kDigest = 32;
  return blob.substr(blob.size() - std::min(kDigest, blob.size()));
}

std::string rounds_text(std::uint64_t first, std::uint64_t last) {
  return first == last ? fmt::format("round {}", first) : fmt::format("rounds {} to {}", first, last);
}

std::string kept_text(const std::vector<std::uint64_t>& rounds) {
  return rounds.empty() ? "the store has no State of this run"
                        : fmt::format("the store has the States of rounds {}", fmt::join(rounds, ", "));
}

}  // namespace

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
                                            const std::shared_ptr<const std::string>& weights,
                                            const std::optional<TestRow>& measured, bool is_last) {
  const std::uint64_t every = options_.record_every;
  const bool passed = row.step == 0 || (recorded_ && row.step / every > *recorded_ / every);
  recorded_ = row.step;
  if (!passed && !is_last) return {};
  RecordRow record{row.step, row.round, row.train_loss, {}, {}, row.bytes_up, row.bytes_down, 0, row.digest};
  record.batch_loss = row.batch_loss;
  record.start_loss = row.start_loss;
  if (row.time) record.virtual_seconds = row.time->total_seconds;
  std::optional<TestRow> test = measured;
  if (options_.test && weights && std::isfinite(row.train_loss.value_or(0)))
    test = options_.test(*weights, is_last);
  if (test) {
    if (!measured || !std::isnan(test->loss)) record.test_loss = test->loss;
    record.test_accuracy = test->accuracy;
    last_test_ = test;
  }
  record.wall_seconds = seconds();
  return {std::move(record)};
}

Result<void> StoreLog::commit(const CommittedRound& round) {
  const auto records = records_of(round.closed, round.weights, round.measured, false);
  std::vector<NodeRow> nodes = round.node_rows;
  for (NodeRow& node : nodes) node.committed = std::time(nullptr);
  // First, and on its own: a schema without a round binds nobody to anything else than the round would.
  if (!round.data_schema.empty()) MFL_CHECK(store_.set_data_schema(run_id_, round.data_schema));
  MFL_CHECK(store_.append(run_id_, std::span(&round.closed, 1), records,
                          Checkpoint{round.round, round.blob, 0}, nodes));
  return options_.committed ? options_.committed(round.round, checkpoint_digest(round.blob)) : Result<void>{};
}

Result<void> StoreLog::prepare(const std::string& data_schema, double eta) {
  if (options_.prepared) MFL_CHECK(options_.prepared(data_schema));
  return store_.set_data_schema(run_id_, data_schema, eta);
}

Result<void> StoreLog::finish(const Ending& ending) {
  const auto records = records_of(ending.last, ending.weights, ending.measured, true);
  RunSummary summary = ending.summary;
  summary.final.test_loss = records.front().test_loss;
  summary.final.test_accuracy = records.front().test_accuracy;
  if (summary.final.test_loss) summary.test_metrics = last_test_->details;
  MFL_CHECK(store_.append(run_id_, std::span(&ending.last, 1), records));
  std::vector<RunWarning> warnings;
  for (const std::string& text : ending.warnings)
    warnings.push_back({"federation", ending.last.step, text, "see docs/operations.md"});
  return store_.finish(run_id_, ending.status, ending.message, summary, seconds(), warnings, ending.model);
}

template <class T>
Result<Resumed<T>> resume_rounds(Store& store, const std::string& run_id, const ResumeOptions& options) {
  MFL_TRY(const auto kept, store.kept_rounds(run_id));
  RewindOptions rewind{options.owned, "", std::max(options.committed, kept.empty() ? 0 : kept.front())};
  if (options.from_round == 0U && !options.drop_all_rounds && rewind.last_round > 0)
    return fail(
        ErrorCode::kBadConfig,
        fmt::format("--from-round 0 drops all {} rounds of run {}, and measures the nodes' data again",
                    rewind.last_round, run_id),
        "add --drop-all-rounds to confirm it");
  if (options.from_round.value_or(0) != 0 && std::ranges::find(kept, *options.from_round) == kept.end())
    return fail(ErrorCode::kBadConfig,
                fmt::format("--from-round {}: run {} does not keep the State of that round",
                            *options.from_round, run_id),
                kept_text(kept));
  Resumed<T> out;
  std::uint64_t round = 0;
  for (const std::uint64_t candidate : kept) {
    if (options.from_round && candidate != *options.from_round) continue;
    MFL_TRY(const auto checkpoint, store.checkpoint(run_id, candidate));
    auto decoded = checkpoint ? decode_round<T>(checkpoint->blob) : tl::unexpected<Error>(Error{});
    if (!decoded || decoded->state.round != candidate) continue;
    round = candidate;
    out.from = *std::move(decoded);
    break;
  }
  if (!out.from && !kept.empty() && options.from_round != 0U)
    return options.from_round
               ? fail(ErrorCode::kBadConfig,
                      fmt::format("--from-round {}: the State of that round of run {} is damaged",
                                  *options.from_round, run_id),
                      kept_text(kept))
               : fail(ErrorCode::kRunFailed,
                      fmt::format("store {} is damaged: no State of run {} is whole", store.path().string(),
                                  run_id),
                      "restore the state folder from a backup, or choose another with --state");
  if (rewind.last_round > round) {
    const std::string dropped = rounds_text(round + 1, rewind.last_round);
    rewind.reason = options.from_round ? fmt::format("--from-round {}", round)
                                       : fmt::format("damaged, continued from round {}", round);
    out.warning = fmt::format("{} dropped: {}", dropped, rewind.reason);
  }
  if (!out.from) {
    MFL_CHECK(store.rewind(run_id, std::nullopt, rewind));
    if (options.from_round) MFL_CHECK(store.set_data_schema(run_id, ""));
    return out;
  }
  MFL_CHECK(store.rewind(run_id, round, rewind));
  // The row of the state itself comes with the next round: its loss is not known yet.
  MFL_CHECK(store.forget_row(run_id, round));
  return out;
}

template Result<Resumed<float>> resume_rounds(Store&, const std::string&, const ResumeOptions&);
template Result<Resumed<double>> resume_rounds(Store&, const std::string&, const ResumeOptions&);

}  // namespace mfl
