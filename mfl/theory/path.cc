#include "mfl/theory/path.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "mfl/solve/rules.h"
#include "mfl/theory/norm.h"

namespace mfl {
namespace {

struct Node {
  Shard shard;
  double weight;                      // |D_i| / |D|
  std::array<Vector<double>, 2> own;  // w_i, d_i
  Vector<double> own_gradient;        // grad F_i(w_i)
  Vector<double> virtual_gradient;    // grad F_i(w_[k])
  double own_loss = 0, virtual_loss = 0;
  BlockMemory<double> memory;

  Node(Shard s, double share, std::size_t columns)
      : shard(s),
        weight(share),
        own{Vector<double>(columns), Vector<double>(columns)},
        own_gradient(columns),
        virtual_gradient(columns),
        memory(columns, 2, 1) {}
};

class PathMeter {
 public:
  PathMeter(const Objective& objective, const Samples<double>& samples, std::span<const Shard> shards,
            const Average& average, const PathOptions& options)
      : objective_(objective),
        samples_(samples),
        kernels_(samples.kernels()),
        average_(average),
        options_(options),
        rule_{options.eta, options.gamma},
        mean_{Vector<double>(samples.columns()), Vector<double>(samples.columns())},
        virtual_(mean_),
        gradient_(samples.columns()) {
    std::size_t total = 0;
    for (const Shard& shard : shards) total += shard.count;
    for (const Shard& shard : shards)
      nodes_.emplace_back(shard, static_cast<double>(shard.count) / static_cast<double>(total),
                          samples.columns());
  }

  Path run() {
    evaluate_start();
    while (path_.intervals.empty() || next_first() < options_.steps) {
      if (!run_interval()) {
        path_.diverged_after = path_.intervals.empty() ? 0 : next_first();
        break;
      }
      const bool go_on = !options_.progress || options_.progress(next_first(), path_.intervals.back().loss);
      if (!go_on) {
        path_.stopped = true;
        break;
      }
    }
    path_.w = mean_[0];
    return std::move(path_);
  }

 private:
  std::uint64_t next_first() const { return path_.intervals.back().first + path_.intervals.back().steps; }

  void each_node(const std::function<void(std::size_t)>& work) {
    if (options_.run != nullptr) return (*options_.run)(nodes_.size(), work);
    for (std::size_t i = 0; i < nodes_.size(); ++i) work(i);
  }

  // F and grad F at the virtual w, from the nodes' parts.
  double combine() {
    double loss = 0;
    std::fill(gradient_.begin(), gradient_.end(), 0.0);
    for (const Node& node : nodes_) {
      loss += node.weight * node.virtual_loss;
      for (std::size_t j = 0; j < gradient_.size(); ++j)
        gradient_[j] += node.weight * node.virtual_gradient[j];
    }
    return loss;
  }

  // Both of every node's gradients in one pass over its rows.
  void gradients() {
    each_node([&](std::size_t i) {
      Node& node = nodes_[i];
      std::array<LinearItem<double>, 2> items = {
          LinearItem<double>{node.own[0].data(), node.own_gradient.data(), objective_.lambda},
          LinearItem<double>{virtual_[0].data(), node.virtual_gradient.data(), objective_.lambda}};
      loss_and_gradient<double>(objective_.loss, samples_, node.shard, items, node.memory);
      node.own_loss = items[0].loss;
      node.virtual_loss = items[1].loss;
    });
  }

  // F at the virtual w alone.
  double virtual_loss() {
    each_node([&](std::size_t i) {
      nodes_[i].virtual_loss = evaluate(objective_, samples_, nodes_[i].shard, virtual_[0]).loss;
    });
    double loss = 0;
    for (const Node& node : nodes_) loss += node.weight * node.virtual_loss;
    return loss;
  }

  double distance_to_optimum() {
    return options_.optimum == nullptr ? 0 : apart(virtual_[0], *options_.optimum);
  }

  double apart(const Vector<double>& a, const Vector<double>& b) const {
    return std::sqrt(kernels_.squared_distance(a.size(), a.data(), b.data()));
  }

  void evaluate_start() {
    gradients();
    path_.start_loss = combine();
  }

  // grad F at w_[k](t) is known: notes the step, and the nodes' divergences.
  void note_virtual_step(std::uint64_t t, double loss, Interval& interval) {
    VirtualStep step;
    step.t = t;
    step.loss = loss;
    step.gradient = norm(kernels_, gradient_);
    step.momentum = norm(kernels_, virtual_[1]);
    for (std::size_t j = 0; j < gradient_.size(); ++j) step.product += gradient_[j] * virtual_[1][j];
    step.distance = distance_to_optimum();
    path_.virtual_steps.push_back(step);
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      interval.node_delta[i] = std::max(interval.node_delta[i], apart(nodes_[i].virtual_gradient, gradient_));
  }

  bool note_gaps(std::uint64_t t, std::uint64_t into) {
    GapStep gaps;
    gaps.t = t;
    gaps.into = into;
    gaps.w_size = norm(kernels_, virtual_[0]);
    gaps.d_size = norm(kernels_, virtual_[1]);
    for (std::size_t v = 0; v < 2; ++v) {
      std::vector<const Vector<double>*> all;
      for (const Node& node : nodes_) all.push_back(&node.own[v]);
      if (!average_(all, mean_[v])) return false;
    }
    for (const Node& node : nodes_) {
      gaps.node_w.push_back(apart(node.own[0], virtual_[0]));
      gaps.node_d.push_back(apart(node.own[1], virtual_[1]));
      gaps.w_size = std::max(gaps.w_size, norm(kernels_, node.own[0]));
      gaps.d_size = std::max(gaps.d_size, norm(kernels_, node.own[1]));
    }
    gaps.w = apart(mean_[0], virtual_[0]);
    gaps.d = apart(mean_[1], virtual_[1]);
    if (!std::isfinite(gaps.w_size + gaps.d_size + gaps.w + gaps.d)) return false;
    path_.gaps.push_back(std::move(gaps));
    return true;
  }

  void everyone_starts_from_the_mean() {
    for (Node& node : nodes_) node.own = mean_;
    virtual_ = mean_;
  }

  // False when a number is not finite; what the interval noted is then taken back.
  bool run_interval() {
    const std::uint64_t first = path_.intervals.empty() ? 0 : next_first();
    Interval interval;
    interval.first = first;
    interval.steps = std::min(options_.tau, options_.steps - first);
    interval.node_delta.assign(nodes_.size(), 0);
    everyone_starts_from_the_mean();
    interval.start_distance = distance_to_optimum();
    for (std::uint64_t into = 1; into <= interval.steps; ++into) {
      if (into > 1) gradients();  // those at the start are known
      const double loss = combine();
      if (into > 1) path_.virtual_steps.back().loss_after = loss;
      note_virtual_step(first + into - 1, loss, interval);
      rule_.step(kernels_, gradient_, virtual_[0], virtual_[1]);
      for (Node& node : nodes_) rule_.step(kernels_, node.own_gradient, node.own[0], node.own[1]);
      if (!note_gaps(first + into, into)) return take_back(first);
    }
    path_.virtual_steps.back().loss_after = virtual_loss();
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      interval.delta += nodes_[i].weight * interval.node_delta[i];
    return close(interval) || take_back(first);
  }

  // F and its gradient at the aggregated w.
  bool close(Interval& interval) {
    everyone_starts_from_the_mean();
    gradients();
    interval.loss = combine();
    interval.gradient = norm(kernels_, gradient_);
    if (!std::isfinite(interval.loss) || !std::isfinite(path_.virtual_steps.back().loss_after)) return false;
    const std::uint64_t step = interval.first + interval.steps;
    if (path_.best_step == 0 || interval.loss < path_.best_loss) {
      path_.best_loss = interval.loss;
      path_.best_step = step;
    }
    path_.intervals.push_back(std::move(interval));
    return true;
  }

  bool take_back(std::uint64_t first) {
    std::erase_if(path_.gaps, [&](const GapStep& step) { return step.t > first; });
    std::erase_if(path_.virtual_steps, [&](const VirtualStep& step) { return step.t >= first; });
    return false;
  }

  const Objective& objective_;
  const Samples<double>& samples_;
  const Kernels<double>& kernels_;
  const Average& average_;
  const PathOptions& options_;
  Momentum rule_;
  std::vector<Node> nodes_;
  std::array<Vector<double>, 2> mean_, virtual_;  // w and d
  Vector<double> gradient_;
  Path path_;
};

}  // namespace

Path measure_path(const Objective& objective, const Samples<double>& samples, std::span<const Shard> nodes,
                  const Average& average, const PathOptions& options) {
  return PathMeter(objective, samples, nodes, average, options).run();
}

}  // namespace mfl
