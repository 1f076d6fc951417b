// Nodes of the local engine that programs outside of mfl run: what they are asked in a round, and what they
// report.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "mfl/engine/local_nodes.h"

namespace mfl {

template <class T>
class ExternalRounds final : public LocalNodes<T> {
 public:
  // For one setting. The federation has external nodes and outlives this.
  ExternalRounds(OwnNodes own, const Federation<T>& federation, LocalNodeOptions options);

  void start(std::span<const StepRange<T>> ranges, std::uint64_t steps) override;
  std::size_t train(unsigned worker, std::size_t node, NodeMemory<T>& memory,
                    std::span<NodeLosses> losses) override;
  std::size_t evaluate(unsigned worker, std::size_t node, double lambda, const Vector<T>& w,
                       double& loss) override;
  std::optional<TestMetrics> test(double lambda, const Vector<T>& w, TestDetail detail) override;

  std::vector<NodeReport> take_reports(const Vector<T>& w) override;
  NodeReport* last_report(unsigned worker) override { return &reports_[worker].back(); }
  Metrics measured() const override { return measured_; }

 private:
  // Measures w, and starts a report with that.
  double measure(unsigned worker, std::size_t node, const Vector<T>& w);
  NodeReport& new_report(unsigned worker, std::size_t node);

  const Federation<T>& federation_;
  LocalNodeOptions options_;
  const StepRange<T>* range_ = nullptr;
  std::uint64_t steps_ = 0;
  std::vector<std::vector<NodeReport>> reports_;  // by worker
  Metrics measured_;
  Vector<T> measured_w_;
};

}  // namespace mfl
