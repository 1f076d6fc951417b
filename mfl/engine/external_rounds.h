// What an engine asks of external nodes in a round, and what they reported.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "mfl/engine/engine.h"

namespace mfl {

// Calls with different workers may be concurrent; take() and what is read afterwards are not.
template <class T>
class ExternalRounds {
 public:
  // The federation has external nodes and outlives it. `poll` as of ExternalWork.
  ExternalRounds(const Federation<T>& federation, const Batching& batching, std::function<void()> poll);

  // A round of a node whose vectors are `own`, before and after it.
  NodeLosses train(unsigned worker, std::size_t node, const Algorithm& algorithm, const StepRange<T>& range,
                   std::uint64_t steps, std::vector<Vector<T>>& own);
  // The loss of w.
  double evaluate(unsigned worker, std::size_t node, const Vector<T>& w);
  // Of the node that the worker called last.
  NodeReport& last_report(unsigned worker) { return reports_[worker].back(); }

  // All reports since the last call, by node. What they measured is that of w.
  std::vector<NodeReport> take(const Vector<T>& w);
  // Means over the nodes of those reports.
  const Metrics& measured() const { return measured_; }
  // The same as what an engine knows of a test set; nothing where it is not that of w.
  std::optional<TestMetrics> test(const Vector<T>& w) const;

 private:
  NodeReport& new_report(unsigned worker, std::size_t node);

  const Federation<T>& federation_;
  Batching batching_;
  std::function<void()> poll_;
  std::vector<std::vector<NodeReport>> reports_;  // by worker
  Metrics measured_;
  Vector<T> measured_w_;
};

}  // namespace mfl
