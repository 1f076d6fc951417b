#include "mfl/federation/trainer.h"

#include <fmt/core.h>

#include <cassert>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include "mfl/aggregate/exact_mean.h"
#include "mfl/algorithm/aggregation.h"
#include "mfl/federation/payload.h"

namespace mfl {
namespace {

struct Stopped {};

// Workers whose work ends early once a flag is set.
class StoppableWorkers final : public Workers {
 public:
  StoppableWorkers(std::unique_ptr<Workers> workers, const std::atomic<bool>& stop)
      : workers_(std::move(workers)), stop_(stop) {}

  unsigned count() const override { return workers_->count(); }
  void for_each(std::size_t n, const std::function<void(unsigned worker, std::size_t i)>& work) override {
    workers_->for_each(n, [&](unsigned worker, std::size_t i) {
      if (stop_) throw Stopped();
      work(worker, i);
    });
  }

 private:
  std::unique_ptr<Workers> workers_;
  const std::atomic<bool>& stop_;
};

std::function<void()> stop_check(const std::atomic<bool>* stop) {
  if (stop == nullptr) return {};
  return [stop] {
    if (*stop) throw Stopped();
  };
}

std::unique_ptr<Workers> stoppable(std::unique_ptr<Workers> workers, const std::atomic<bool>* stop) {
  if (stop == nullptr) return workers;
  return std::make_unique<StoppableWorkers>(std::move(workers), *stop);
}

tl::unexpected<Error> bad_task(std::string what) {
  return fail(ErrorCode::kNetwork, std::move(what), "check that server and node have the same mfl");
}

template <class T>
class ShardTrainer final : public Trainer {
 public:
  ShardTrainer(const Federation<T>& federation, const Setting& setting, std::unique_ptr<Workers> workers,
               const std::atomic<bool>* stop, const TrainerOptions& options, KeptFile<T> kept)
      : federation_(federation),
        options_(options),
        algorithm_(setting.algorithm),
        engine_(local_engine<T>(
            federation, {setting}, stoppable(std::move(workers), stop),
            {.batching = options.batching, .codecs = options.codecs, .before_step = stop_check(stop)})),
        state_(initial_state<T>(setting.algorithm, federation.model->parameters())),
        kept_(std::move(kept)) {
    assert(federation.nodes.size() == 1);
  }

  std::uint64_t weight() const override { return federation_.nodes.front().count; }
  std::uint64_t columns() const override { return federation_.train.columns(); }
  std::uint32_t bits() const override { return 8 * sizeof(T); }

  Result<Trained> train(const Assignment& task) override {
    MFL_CHECK(take(task));
    try {
      return work(task);
    } catch (const Stopped&) {
      return fail(ErrorCode::kRunFailed, fmt::format("stopped in round {}", task.ticket.round));
    }
  }

 private:
  std::size_t parameters() const { return federation_.model->parameters(); }

  // Checks the task and makes its vectors the state.
  Result<void> take(const Assignment& task) {
    const VectorLayout& layout = algorithm_.vectors();
    const std::vector<std::size_t> sent = task_vectors(layout, task.work);
    const std::vector<Block> expected = task_blocks<T>(layout, parameters(), task.work);
    if (task.blocks != expected)
      return bad_task(fmt::format("the server sent {} for round {}, {} was expected",
                                  blocks_text(task.blocks), task.ticket.round, blocks_text(expected)));
    const std::vector<std::size_t> lengths = lengths_of(layout, sent, parameters());
    const std::size_t bytes = std::accumulate(lengths.begin(), lengths.end(), std::size_t{0}) * sizeof(T);
    if (task.payload == nullptr || task.payload->size() != bytes)
      return bad_task(fmt::format("the server sent {} bytes of vectors for round {}, {} were expected",
                                  task.payload ? task.payload->size() : 0, task.ticket.round, bytes));
    const std::uint64_t most = options_.most_steps != 0 ? options_.most_steps : algorithm_.tau;
    const bool trains = task.work == Work::kTrain;
    if (task.steps > most || trains != (task.steps != 0))
      return bad_task(fmt::format("the server asks for {} steps in round {}, and tau is {}{}", task.steps,
                                  task.ticket.round, options_.most_steps != 0 ? "at most " : "", most));
    std::string_view payload = *task.payload;
    for (std::size_t i = 0; i < sent.size(); ++i) {
      Vector<T>& vector = state_.vectors[layout.place_in_state(sent[i])].values;
      vector.resize(lengths[i]);
      take_numbers(payload, std::span<T>(vector));
      if (const auto bad = first_not_finite(std::span<const T>(vector)))
        return bad_task(fmt::format("{}[{}] of the server's State for round {} is not finite",
                                    layout[sent[i]].name, *bad, task.ticket.round));
    }
    return {};
  }

  Result<Trained> work(const Assignment& task) {
    if (task.work == Work::kEvaluate) {
      const double loss = engine_->train_loss(0, state_.w());
      return Trained{{.train_loss = loss}, {}, {}, engine_->measured()};
    }
    state_.round = task.ticket.round - 1;
    const bool keeps = keeps_at_nodes(algorithm_, options_.codecs);
    if (keeps) {
      MFL_TRY(const auto kept, kept_.at(task.counted_round));
      engine_->restore(0, kept);
    }
    std::string sent;
    StepRange<T> range{.state = &state_, .out = &aggregate_};
    range.evaluate = options_.losses.evaluates(state_.round);
    range.sent = &sent;
    engine_->run(std::span(&range, 1), task.steps);
    const VectorLayout& layout = algorithm_.vectors(task.ticket.round);
    std::vector<Block> blocks = blocks_of(layout, layout.up(), parameters(), options_.codecs.encoding<T>());
    // Numbers that are not finite are for the server to see and refuse; the engine does not keep them.
    if (range.failure)
      return Trained{losses_of(std::numeric_limits<double>::quiet_NaN()), std::move(blocks), std::move(sent)};
    if (keeps) {
      engine_->keep(0);
      MFL_CHECK(kept_.propose(task.ticket.round, engine_->kept(0)));
    }
    return Trained{losses_of(aggregate_.loss_before), std::move(blocks), std::move(sent),
                   engine_->measured()};
  }

  // Of the round that was run; `loss` is what it measured in passing.
  Losses losses_of(double loss) const {
    Losses out;
    switch (options_.losses.passing) {
      case LossRule::Passing::kTrain: out.train_loss = loss; break;
      case LossRule::Passing::kBatch: out.batch_loss = loss; break;
      case LossRule::Passing::kStart: out.start_loss = loss; break;
    }
    if (options_.losses.evaluates(state_.round))
      out.train_loss = std::isfinite(loss) ? aggregate_.evaluated : loss;
    return out;
  }

  const Federation<T>& federation_;
  TrainerOptions options_;
  Algorithm algorithm_;
  std::unique_ptr<Engine<T>> engine_;
  State<T> state_;
  Aggregate<T> aggregate_;
  KeptFile<T> kept_;
};

}  // namespace

template <class T>
std::unique_ptr<Trainer> make_trainer(const Federation<T>& federation, const Setting& setting,
                                      std::unique_ptr<Workers> workers, const std::atomic<bool>* stop,
                                      const TrainerOptions& options, KeptFile<T> kept) {
  return std::make_unique<ShardTrainer<T>>(federation, setting, std::move(workers), stop, options,
                                           std::move(kept));
}

#define MFL_INSTANTIATE(T)                                                                           \
  template std::unique_ptr<Trainer> make_trainer(const Federation<T>&, const Setting&,               \
                                                 std::unique_ptr<Workers>, const std::atomic<bool>*, \
                                                 const TrainerOptions&, KeptFile<T>);
MFL_INSTANTIATE(float)
MFL_INSTANTIATE(double)
#undef MFL_INSTANTIATE

}  // namespace mfl
