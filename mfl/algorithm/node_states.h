// The vectors that nodes keep across rounds (VectorFlow::kept, Codec::keeps_residuals), by node number. A round proposes what its nodes would keep; they
// keep it once the server has counted the round, and otherwise start again from what they had.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "mfl/base/vectors.h"

namespace mfl {

template <class T>
struct KeptVectors {
  std::uint64_t node = 0;
  // Those of VectorLayout::kept(); then, where a codec keeps residuals, one for each of VectorLayout::up().
  std::vector<Vector<T>> vectors;
};

template <class T>
class NodeStates {
 public:
  // Null for a node that no round has counted: its vectors are zero.
  const std::vector<Vector<T>>* find(std::uint64_t node) const {
    const auto found = kept_.find(node);
    return found == kept_.end() ? nullptr : &found->second;
  }

  // Forgets what was proposed; `nodes` places follow.
  void start_round(std::size_t nodes) { proposed_.assign(nodes, {}); }
  // May be called for different places at the same time.
  void propose(std::size_t place, KeptVectors<T> vectors) { proposed_[place] = std::move(vectors); }
  void commit() {
    for (KeptVectors<T>& one : proposed_) kept_[one.node] = std::move(one.vectors);
    proposed_.clear();
  }

  // By ascending node numbers.
  std::vector<KeptVectors<T>> all() const {
    std::vector<KeptVectors<T>> out;
    for (const auto& [node, vectors] : kept_) out.push_back({node, vectors});
    return out;
  }
  void restore(std::vector<KeptVectors<T>> all) {
    kept_.clear();
    proposed_.clear();
    for (KeptVectors<T>& one : all) kept_[one.node] = std::move(one.vectors);
  }

 private:
  std::map<std::uint64_t, std::vector<Vector<T>>> kept_;
  std::vector<KeptVectors<T>> proposed_;
};

}  // namespace mfl
