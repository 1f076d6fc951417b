#include "mfl/solve/node.h"

#include <algorithm>
#include <array>

namespace mfl {

template <class T>
NodeMemory<T>::NodeMemory(std::size_t columns, std::span<const Setting> settings, std::size_t wave)
    : gradients_(settings.size(), Vector<T>(columns)),
      blocks_(columns, std::min(settings.size(), kMaxBatch), wave) {
  for (const Setting& setting : settings)
    vectors_.emplace_back(vector_names(setting.rule).size(), Vector<T>(columns));
}

template <class T>
void train_node(std::span<const Setting> settings, std::span<const Chosen> chosen, Loss loss,
                const Samples<T>& samples, Shard shard, std::uint64_t steps, NodeMemory<T>& memory,
                std::span<const HingeShard<T>> hinge, std::span<double> losses, const ForEach* run) {
  std::array<Item<T>, kMaxBatch> items;
  for (std::uint64_t step = 0; step < steps; ++step)
    for (std::size_t first = 0; first < chosen.size(); first += kMaxBatch) {
      const std::size_t count = std::min(kMaxBatch, chosen.size() - first);
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t s = chosen[first + i].setting;
        items[i] = {.w = memory.vectors(s)[0].data(),
                    .gradient = memory.gradient(s).data(),
                    .lambda = settings[s].lambda,
                    .wants_loss = step == 0 && chosen[first + i].wants_loss,
                    .hinge = hinge.empty() ? HingeShard<T>{} : hinge[s]};
      }
      loss_and_gradient(loss, samples, shard, std::span(items.data(), count), memory.blocks(), run);
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t s = chosen[first + i].setting;
        if (step == 0) losses[first + i] = items[i].loss;
        std::visit(
            [&](const auto& rule) {
              rule.step(samples.kernels(), memory.gradient(s), std::span(memory.vectors(s)));
            },
            settings[s].rule);
      }
    }
}

#define MFL_INSTANTIATE(T)                                                                             \
  template class NodeMemory<T>;                                                                        \
  template void train_node(std::span<const Setting>, std::span<const Chosen>, Loss, const Samples<T>&, \
                           Shard, std::uint64_t, NodeMemory<T>&, std::span<const HingeShard<T>>,       \
                           std::span<double>, const ForEach*);
MFL_INSTANTIATE(float)
MFL_INSTANTIATE(double)
#undef MFL_INSTANTIATE

}  // namespace mfl
