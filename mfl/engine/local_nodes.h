// What a node of the local engine is: rows that are stored, rows that are generated when it runs, or a
// program of the user's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "mfl/engine/engine.h"

namespace mfl {

// The nodes that this process runs. The data of stored nodes is on one process; a generated node can run on
// any, and has to stay on one only where it keeps vectors.
struct OwnNodes {
  std::size_t first = 0, count = 0;  // of all nodes: those that this process runs if all take part
  bool anywhere = false;             // of fewer, it runs an equal share, whichever nodes they are
  unsigned rank = 0, ranks = 1;

  bool runs(std::size_t node) const { return node >= first && node < first + count; }
  // The first place and the number of those among the participants that this process runs; if `participants`
  // is empty, among all nodes.
  std::pair<std::size_t, std::size_t> part_of(std::span<const std::uint32_t> participants) const;
};

// The part [first, last) of `all` of this rank.
std::pair<std::size_t, std::size_t> equal_share(std::size_t all, unsigned rank, unsigned ranks);

// Calls with different workers may be concurrent; the others are made in between.
template <class T>
class LocalNodes {
 public:
  virtual ~LocalNodes() = default;

  const OwnNodes& own() const { return own_; }
  // The row blocks of a node that are computed concurrently; with more than 1, nodes run one after the other
  // on worker 0.
  virtual std::size_t wave() const { return 1; }

  // Before the nodes run: as Engine::run, whose ranges outlive the calls of train().
  virtual void start(std::span<const StepRange<T>> ranges, std::uint64_t steps) = 0;
  // Trains the node on the vectors in `memory`, and writes its losses by range. Returns its number of
  // samples.
  virtual std::size_t train(unsigned worker, std::size_t node, NodeMemory<T>& memory,
                            std::span<NodeLosses> losses) = 0;
  // Writes F_i(w). Returns the number of samples.
  virtual std::size_t evaluate(unsigned worker, std::size_t node, double lambda, const Vector<T>& w,
                               double& loss) = 0;
  // As Engine::test.
  virtual std::optional<TestMetrics> test(double lambda, const Vector<T>& w, TestDetail detail) = 0;

  // What programs reported since the last call, by node; what they measured is that of w.
  virtual std::vector<NodeReport> take_reports(const Vector<T>& /*w*/) { return {}; }
  // The report of the node that the worker ran last; null where nothing is reported.
  virtual NodeReport* last_report(unsigned /*worker*/) { return nullptr; }
  virtual Metrics measured() const { return {}; }

 protected:
  explicit LocalNodes(OwnNodes own) : own_(own) {}

 private:
  OwnNodes own_;
};

// Where nodes run and how they take their steps. What is referred to outlives the nodes; `ranks` is null
// where one process has all.
struct LocalNodeOptions {
  std::span<const Setting> settings;
  Stepping stepping;
  Workers& workers;
  Ranks* ranks = nullptr;
};

// Of the kind that the federation has.
template <class T>
std::unique_ptr<LocalNodes<T>> make_local_nodes(const Federation<T>& federation, LocalNodeOptions options);

}  // namespace mfl
