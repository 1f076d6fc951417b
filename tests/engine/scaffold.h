// An algorithm with every kind of flow but one: vectors that nodes keep, that they only read, and that only the server has use for.
#pragma once

#include <cstddef>
#include <vector>

#include "mfl/algorithm/algorithms.h"

namespace mfl::testing {

// Scaffold, option II: x <- x - eta (g - c_i + c); c_i' = c_i - c + (w - x) / (K eta); w <- mean of x; c <- c + S/N mean of c_i' - c_i.
class Scaffold final : public MethodOf<Scaffold> {
 public:
  explicit Scaffold(double eta) : eta_(eta) {}

  enum Vectors { kW, kC, kOwn, kChange };
  std::vector<VectorFlow> vectors() const override {
    VectorFlow w = averaged("w");
    w.weighting = Weighting::kEqually;
    return {w, broadcast("c"), kept("c_i"), sent_up("change", Weighting::kEqually)};
  }

  template <class T>
  void step(NodeRound<T>& node, const Vector<T>& gradient) const {
    Vector<T>& x = node[kW];
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] -= static_cast<T>(eta_) * (gradient[i] - node[kOwn][i] + node.sent(kC)[i]);
  }

  template <class T>
  void end(NodeRound<T>& node) const {
    const T scale = static_cast<T>(1 / (static_cast<double>(node.steps) * eta_));
    for (std::size_t i = 0; i < node[kW].size(); ++i) {
      const T before = node[kOwn][i];
      node[kOwn][i] = before - node.sent(kC)[i] + (node.sent(kW)[i] - node[kW][i]) * scale;
      node[kChange][i] = node[kOwn][i] - before;
    }
  }

  template <class T>
  void server(ServerRound<T>& round) const {
    const T share = static_cast<T>(static_cast<double>(round.counted) / static_cast<double>(round.nodes));
    for (std::size_t i = 0; i < round[kC].size(); ++i) round[kC][i] += share * round.mean(kChange)[i];
    round.take_means();
  }

 private:
  double eta_;
};

}  // namespace mfl::testing
