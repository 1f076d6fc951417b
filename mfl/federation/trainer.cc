#include "mfl/federation/trainer.h"

#include <fmt/core.h>

#include <cassert>
#include <limits>
#include <utility>

#include "mfl/federation/payload.h"

namespace mfl {
namespace {

template <class T>
class ShardTrainer final : public Trainer {
 public:
  ShardTrainer(const Federation<T>& federation, const Algorithm& algorithm, const Setting& setting,
               std::unique_ptr<Workers> workers)
      : federation_(federation),
        engine_(local_engine<T>(federation, {setting}, std::move(workers))),
        state_(initial_state<T>(algorithm, federation.train.columns())) {
    assert(federation.nodes.size() == 1);
  }

  std::uint64_t weight() const override { return federation_.nodes.front().count; }
  std::uint64_t columns() const override { return federation_.train.columns(); }
  std::uint32_t bits() const override { return 8 * sizeof(T); }

  Result<Trained> train(const Assignment& task) override {
    const std::size_t expected = state_.vectors.size() * columns() * sizeof(T);
    if (task.payload == nullptr || task.payload->size() != expected)
      return fail(ErrorCode::kNetwork,
                  fmt::format("the server sent {} bytes of vectors for round {}, {} were expected",
                              task.payload ? task.payload->size() : 0, task.ticket.round, expected),
                  "check that server and node have the same mfl");
    auto vectors = from_payload<T>(*task.payload, state_.vectors.size(), columns());
    for (std::size_t v = 0; v < vectors.size(); ++v) state_.vectors[v].values = std::move(vectors[v]);
    if (task.steps == 0) return Trained{engine_->train_loss(0, state_.w()), {}};
    Stretch<T> stretch{0, &state_, true, true, &aggregate_, std::nullopt};
    engine_->run(std::span(&stretch, 1), task.steps);
    // Numbers that are not finite are for the server to see and refuse; the engine does not keep them.
    if (stretch.failure)
      return Trained{std::numeric_limits<double>::quiet_NaN(), std::string(expected, '\0')};
    return Trained{aggregate_.loss_before, to_payload(aggregate_.vectors)};
  }

 private:
  const Federation<T>& federation_;
  std::unique_ptr<Engine<T>> engine_;
  State<T> state_;
  Aggregate<T> aggregate_;
};

}  // namespace

template <class T>
std::unique_ptr<Trainer> make_trainer(const Federation<T>& federation, const Algorithm& algorithm,
                                      const Setting& setting, std::unique_ptr<Workers> workers) {
  return std::make_unique<ShardTrainer<T>>(federation, algorithm, setting, std::move(workers));
}

template std::unique_ptr<Trainer> make_trainer(const Federation<float>&, const Algorithm&, const Setting&,
                                               std::unique_ptr<Workers>);
template std::unique_ptr<Trainer> make_trainer(const Federation<double>&, const Algorithm&, const Setting&,
                                               std::unique_ptr<Workers>);

}  // namespace mfl
