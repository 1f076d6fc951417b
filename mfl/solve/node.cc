#include "mfl/solve/node.h"

namespace mfl {

template <class T>
double train_node(const Rule& rule, const Objective& objective, const Samples<T>& samples, Shard shard,
                  std::uint64_t steps, NodeMemory<T>& memory) {
  return std::visit(
      [&](const auto& r) {
        double loss_at_start = 0;
        for (std::uint64_t s = 0; s < steps; ++s) {
          const double loss = loss_and_gradient(objective, samples, shard, memory.vectors[0], memory.gradient,
                                                memory.block);
          if (s == 0) loss_at_start = loss;
          r.step(samples.kernels(), memory.gradient, std::span(memory.vectors));
        }
        return loss_at_start;
      },
      rule);
}

template double train_node(const Rule&, const Objective&, const Samples<float>&, Shard, std::uint64_t,
                           NodeMemory<float>&);
template double train_node(const Rule&, const Objective&, const Samples<double>&, Shard, std::uint64_t,
                           NodeMemory<double>&);

}  // namespace mfl
