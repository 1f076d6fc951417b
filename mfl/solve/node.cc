#include "mfl/solve/node.h"

#include <algorithm>
#include <array>

namespace mfl {

template <class T>
NodeMemory<T>::NodeMemory(const Model<T>& model, std::span<const Setting> settings, std::size_t wave)
    : gradients_(settings.size(), Vector<T>(model.parameters())),
      workspace_(model.make_workspace(std::min(settings.size(), kMaxBatch), wave)) {
  for (const Setting& setting : settings)
    vectors_.emplace_back(vector_names(setting.rule).size(), Vector<T>(model.parameters()));
}

template <class T>
const Samples<T>& NodeMemory<T>::gather(const Samples<T>& samples, Shard shard,
                                        std::span<const std::uint32_t> rows, std::uint64_t most) {
  if (!batch_) batch_ = Samples<T>::buffer_for(samples, static_cast<std::size_t>(most));
  batch_->gather(samples, shard, rows);
  return *batch_;
}

template <class T>
void train_node(std::span<const Setting> settings, std::span<const Chosen> chosen, const Model<T>& model,
                const NodeData<T>& data, std::uint64_t steps, const Stepping& stepping, NodeMemory<T>& memory,
                std::span<double> losses, const ForEach* run) {
  const Batching& batching = stepping.batching;
  const bool all = takes_all(batching, data.shard.count);
  const std::uint64_t taken = steps_of_node(batching, data.shard.count, steps);
  if (!all) {
    memory.order().start(batching, data.key, stepping.round, data.shard.count);
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      const std::size_t s = chosen[i].setting;
      losses[i] =
          chosen[i].wants_loss && chosen[i].evaluate
              ? model.evaluate(data.samples, data.shard, settings[s].lambda, memory.vectors(s)[0].data()).loss
              : 0;
    }
  }
  std::array<Item<T>, kMaxBatch> items;
  for (std::uint64_t step = 0; step < taken; ++step) {
    if (stepping.before_step) stepping.before_step();
    const Samples<T>& samples =
        all ? data.samples
            : memory.gather(data.samples, data.shard, memory.order().rows_of(step), batching.batch_size);
    const Shard rows = all ? data.shard : Shard{0, samples.size()};
    for (std::size_t first = 0; first < chosen.size(); first += kMaxBatch) {
      const std::size_t count = std::min(kMaxBatch, chosen.size() - first);
      for (std::size_t i = 0; i < count; ++i) {
        const Chosen& one = chosen[first + i];
        items[i] = {.w = memory.vectors(one.setting)[0].data(),
                    .gradient = memory.gradient(one.setting).data(),
                    .lambda = settings[one.setting].lambda,
                    .wants_loss = one.wants_loss && (all ? step == 0 : !one.evaluate),
                    .cache = all ? data.cache : nullptr,
                    .setting = one.setting,
                    .shard = data.cached};
      }
      model.loss_and_gradient(samples, rows, std::span(items.data(), count), memory.workspace(), run);
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t s = chosen[first + i].setting;
        if (all && step == 0) losses[first + i] = items[i].loss;
        if (!all && items[i].wants_loss) losses[first + i] += items[i].loss / static_cast<double>(taken);
        std::visit(
            [&](const auto& rule) {
              rule.step(samples.kernels(), memory.gradient(s), std::span(memory.vectors(s)));
            },
            settings[s].rule);
      }
    }
  }
}

#define MFL_INSTANTIATE(T)                                                                     \
  template class NodeMemory<T>;                                                                \
  template void train_node(std::span<const Setting>, std::span<const Chosen>, const Model<T>&, \
                           const NodeData<T>&, std::uint64_t, const Stepping&, NodeMemory<T>&, \
                           std::span<double>, const ForEach*);
MFL_INSTANTIATE(float)
MFL_INSTANTIATE(double)
#undef MFL_INSTANTIATE

}  // namespace mfl
