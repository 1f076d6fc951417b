#include "mfl/engine/node.h"

#include <algorithm>
#include <array>

namespace mfl {
namespace {

// What the steps of one call have in common.
template <class T>
struct NodeTraining {
  std::span<const Setting> settings;
  std::span<const Chosen<T>> chosen;
  const Model<T>& model;
  const NodeData<T>& data;
  const Stepping& stepping;
  NodeMemory<T>& memory;
  const ForEach* run;

  std::uint64_t steps_of_node(std::uint64_t steps) const {
    return mfl::steps_of_node(stepping.batching, data.shard.count, steps);
  }

  double full_gradient(std::size_t setting, Vector<T>& gradient) const {
    gradient.resize(model.parameters());
    Item<T> item{.w = memory.vectors(setting)[0].data(),
                 .gradient = gradient.data(),
                 .lambda = settings[setting].lambda,
                 .wants_loss = true};
    model.loss_and_gradient(data.samples, data.shard, std::span(&item, 1), memory.workspace(), run);
    return item.loss;
  }

  // Calls use(method, node) with the node's view of its round.
  template <class Use>
  void at_node(const Chosen<T>& one, std::uint64_t steps, const Use& use) const {
    const Algorithm& algorithm = settings[one.setting].algorithm;
    const std::size_t setting = one.setting;
    NodeRound<T> node{algorithm.vectors(),
                      memory.vectors(setting),
                      one.state,
                      data.samples.kernels(),
                      one.round,
                      steps_of_node(one.round_steps == 0 ? steps : one.round_steps),
                      data.shard.count,
                      [this, setting](Vector<T>& gradient) { return full_gradient(setting, gradient); }};
    use(algorithm.method(), node);
  }
};

}  // namespace

template <class T>
NodeMemory<T>::NodeMemory(const Model<T>& model, std::span<const Setting> settings, std::size_t wave)
    : gradients_(settings.size(), Vector<T>(model.parameters())),
      workspace_(model.make_workspace(std::min(settings.size(), kMaxBatch), wave)) {
  for (const Setting& setting : settings) {
    const VectorLayout& layout = setting.algorithm.vectors();
    auto& vectors = vectors_.emplace_back();
    for (const std::size_t v : layout.at_node()) vectors.emplace_back(layout.length(v, model.parameters()));
  }
}

template <class T>
const Samples<T>& NodeMemory<T>::gather(const Samples<T>& samples, Shard shard,
                                        std::span<const std::uint32_t> rows, std::uint64_t most) {
  if (!batch_) batch_ = Samples<T>::buffer_for(samples, static_cast<std::size_t>(most));
  batch_->gather(samples, shard, rows);
  return *batch_;
}

template <class T>
void train_node(std::span<const Setting> settings, std::span<const Chosen<T>> chosen, const Model<T>& model,
                const NodeData<T>& data, std::uint64_t steps, const Stepping& stepping, NodeMemory<T>& memory,
                std::span<NodeLosses> losses, const ForEach* run) {
  const NodeTraining<T> work{settings, chosen, model, data, stepping, memory, run};
  const Batching& batching = stepping.batching;
  const bool all = takes_all(batching, data.shard.count);
  const bool batches = batching.batch_size != 0;
  const std::uint64_t taken = work.steps_of_node(steps);
  std::ranges::fill(losses, NodeLosses{});
  if (!all) {
    memory.order().start(batching, data.key, stepping.round, data.shard.count);
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      const std::size_t s = chosen[i].setting;
      if (chosen[i].starts && chosen[i].evaluate)
        losses[i].evaluated =
            model.evaluate(data.samples, data.shard, settings[s].lambda, memory.vectors(s)[0].data()).loss;
    }
  }
  for (const Chosen<T>& one : chosen)
    if (one.starts)
      work.at_node(one, steps, [](const Method& method, NodeRound<T>& node) { method.begin_node(node); });
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
        const Chosen<T>& one = chosen[first + i];
        items[i] = {.w = memory.vectors(one.setting)[0].data(),
                    .gradient = memory.gradient(one.setting).data(),
                    .lambda = settings[one.setting].lambda,
                    .wants_loss = one.starts && (batches || step == 0),
                    .cache = all ? data.cache : nullptr,
                    .setting = one.setting,
                    .shard = data.cached};
      }
      model.loss_and_gradient(samples, rows, std::span(items.data(), count), memory.workspace(), run);
      for (std::size_t i = 0; i < count; ++i) {
        const Chosen<T>& one = chosen[first + i];
        NodeLosses& own = losses[first + i];
        if (items[i].wants_loss)
          own.loss += batches ? items[i].loss / static_cast<double>(taken) : items[i].loss;
        if (all && step == 0) own.evaluated = items[i].loss;
        work.at_node(one, steps, [&](const Method& method, NodeRound<T>& node) {
          method.step_node(node, memory.gradient(one.setting));
        });
      }
    }
  }
  for (const Chosen<T>& one : chosen)
    if (one.ends)
      work.at_node(one, steps, [](const Method& method, NodeRound<T>& node) { method.end_node(node); });
}

#define MFL_INSTANTIATE(T)                                                                        \
  template class NodeMemory<T>;                                                                   \
  template void train_node(std::span<const Setting>, std::span<const Chosen<T>>, const Model<T>&, \
                           const NodeData<T>&, std::uint64_t, const Stepping&, NodeMemory<T>&,    \
                           std::span<NodeLosses>, const ForEach*);
MFL_INSTANTIATE(float)
MFL_INSTANTIATE(double)
#undef MFL_INSTANTIATE

}  // namespace mfl
