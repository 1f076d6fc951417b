#include "mfl/run/held_recorder.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "mfl/base/message.h"
#include "mfl/base/version.h"

namespace mfl {
namespace {

// Putting and taking pass the same fields in the same order: one list of them serves both.
class Putter {
 public:
  void operator()(const std::string& text) { out_.put_text(text); }
  template <class V>
  requires std::is_trivially_copyable_v<V>
  void operator()(const V& value) { out_.put(value); }
  template <class V>
  void operator()(std::vector<V>& values) {
    out_.put(values.size());
    for (V& value : values) pass(*this, value);
  }
  const std::string& bytes() const { return out_.bytes(); }

 private:
  MessageWriter out_;
};

class Taker {
 public:
  explicit Taker(std::string_view bytes) : in_(bytes) {}
  void operator()(std::string& text) { text = in_.take_text(); }
  template <class V>
  requires std::is_trivially_copyable_v<V>
  void operator()(V& value) { value = in_.take<V>(); }
  template <class V>
  void operator()(std::vector<V>& values) {
    values.resize(in_.take<std::size_t>());
    for (V& value : values) pass(*this, value);
  }

 private:
  MessageReader in_;
};

template <class Io>
void pass(Io& io, KnownRuns::Done& run) {
  io(run.config_digest), io(run.data_digest), io(run.id);
}

template <class Io>
void pass(Io& io, KnownRuns::Stopped& stopped) {
  io(stopped.config_digest), io(stopped.data_digest);
  Unfinished& run = stopped.run;
  bool has_checkpoint = run.checkpoint.has_value();
  Checkpoint checkpoint = run.checkpoint.value_or(Checkpoint{});
  io(run.id), io(has_checkpoint), io(checkpoint.round), io(checkpoint.blob);
  if (has_checkpoint) run.checkpoint = std::move(checkpoint);
  io(run.wall_seconds), io(run.virtual_seconds), io(run.bytes_up), io(run.bytes_down);
}

template <class Io>
void pass(Io& io, RunSpec& spec) {
  io(spec.name), io(spec.config), io(spec.config_digest), io(spec.data_digest), io(spec.problem);
  io(spec.mfl_version), io(spec.data), io(spec.model), io(spec.algorithm), io(spec.precision);
  io(spec.nodes), io(spec.eta), io(spec.gamma), io(spec.tau), io(spec.planned_steps), io(spec.load_seconds);
  io(spec.data_schema), io(spec.sampled);
}

template <class Io>
void pass(Io& io, RoundRow& row) {
  io(row.round), io(row.step), io(row.train_loss), io(row.bytes_up), io(row.bytes_down), io(row.digest);
  io(row.time);
}

template <class Io>
void pass(Io& io, RecordRow& row) {
  io(row.step), io(row.round), io(row.train_loss), io(row.test_loss), io(row.test_accuracy);
  io(row.bytes_up), io(row.bytes_down), io(row.wall_seconds), io(row.digest);
  io(row.virtual_seconds);
}

template <class Io>
void pass(Io& io, RunSummary& summary) {
  io(summary.final), io(summary.best), io(summary.rounds), io(summary.bytes_up), io(summary.bytes_down);
  io(summary.digest), io(summary.virtual_seconds), io(summary.test_metrics);
}

}  // namespace

template <class Io>
void HeldRecorder::pass(Io& io, Run& run) {
  mfl::pass(io, run.spec);
  io(run.continued), io(run.rewound_to);
  io(run.rounds), io(run.records);
  io(run.checkpoint.round), io(run.checkpoint.blob);
  io(run.status), io(run.message), io(run.finished);
  mfl::pass(io, run.summary);
  io(run.wall_seconds);
}

Result<std::string> known_runs(const Store& store, const std::set<std::string>& config_digests) {
  MFL_TRY(const auto rows, store.list());
  KnownRuns known;
  for (const RunRow& row : rows) {
    if (row.mfl_version != version() || !config_digests.contains(row.config_digest)) continue;
    if (row.status == RunStatus::kDone) known.done.push_back({row.config_digest, row.data_digest, row.id});
    if (!is_unfinished(row)) continue;
    MFL_TRY(Unfinished run, read_unfinished(store, row.id));
    known.stopped.push_back({row.config_digest, row.data_digest, std::move(run)});
  }
  Putter out;
  out(known.done), out(known.stopped);
  return out.bytes();
}

HeldRecorder::HeldRecorder(std::string_view known) {
  if (known.empty()) return;
  Taker in(known);
  in(known_.done), in(known_.stopped);
}

Result<std::optional<std::string>> HeldRecorder::find_done(const RunSpec& spec) {
  const auto found = std::ranges::find_if(known_.done, [&](const KnownRuns::Done& run) {
    return run.config_digest == spec.config_digest && run.data_digest == spec.data_digest;
  });
  return found == known_.done.end() ? std::nullopt : std::optional(found->id);
}

Result<std::optional<Unfinished>> HeldRecorder::find_unfinished(const RunSpec& spec) {
  const auto found = std::ranges::find_if(known_.stopped, [&](const KnownRuns::Stopped& stopped) {
    return stopped.config_digest == spec.config_digest && stopped.data_digest == spec.data_digest &&
           !runs_.contains(stopped.run.id);
  });
  return found == known_.stopped.end() ? std::nullopt : std::optional(found->run);
}

Result<void> HeldRecorder::continue_run(const Unfinished& run) {
  Run& held = runs_[run.id];
  held.continued = true;
  held.rewound_to = run.round();
  return {};
}

Result<std::string> HeldRecorder::create_run(const RunSpec& spec) {
  std::string id = fmt::format("held {}", runs_.size());
  runs_[id].spec = spec;
  return id;
}

Result<void> HeldRecorder::append(std::string_view id, std::span<const RoundRow> rounds,
                                  std::span<const RecordRow> records,
                                  const std::optional<Checkpoint>& checkpoint) {
  Run& run = runs_.find(id)->second;
  run.rounds.insert(run.rounds.end(), rounds.begin(), rounds.end());
  run.records.insert(run.records.end(), records.begin(), records.end());
  if (checkpoint) run.checkpoint = *checkpoint;
  return {};
}

Result<void> HeldRecorder::finish(std::string_view id, RunStatus status, std::string_view message,
                                  const RunSummary& summary, double wall_seconds) {
  Run& run = runs_.find(id)->second;
  run.status = status;
  run.message = message;
  run.finished = true;
  run.summary = summary;
  run.wall_seconds = wall_seconds;
  return {};
}

void HeldRecorder::give_up(std::string_view id, std::string_view message) {
  Run& run = runs_.find(id)->second;
  if (!run.finished) run.message = message;
}

std::string HeldRecorder::bytes() const {
  Putter out;
  out(runs_.size());
  for (const auto& [id, run] : runs_) {
    Run copy = run;
    out(id);
    pass(out, copy);
  }
  return out.bytes();
}

Result<std::map<std::string, std::string>> take_over(Store& store, std::string_view bytes) {
  std::map<std::string, std::string> ids;
  Taker in(bytes);
  std::size_t count = 0;
  in(count);
  for (std::size_t i = 0; i < count; ++i) {
    std::string id;
    HeldRecorder::Run run;
    in(id);
    HeldRecorder::pass(in, run);
    if (run.continued) {
      MFL_CHECK(store.rewind(id, run.rewound_to));
      ids[id] = id;
    } else {
      MFL_TRY(ids[id], store.create_run(run.spec));
    }
    MFL_CHECK(store.append(ids[id], run.rounds, run.records,
                           run.checkpoint.blob.empty() ? std::nullopt : std::optional(run.checkpoint)));
    MFL_CHECK(store.finish(ids[id], run.status, run.message,
                           run.finished ? std::optional(run.summary) : std::nullopt, run.wall_seconds));
  }
  return ids;
}

}  // namespace mfl
