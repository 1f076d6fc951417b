// Scaffold (Karimireddy et al. 2020, option II): nodes that differ do not drift apart, because each corrects its gradients by what
// the others see.
//
//   at a node, each step   x <- x - eta (g - c_i + c), from the broadcast w
//   at its end             c_i' = c_i - c + (w - x) / (K eta)
//   at the server          w <- mean of x;  c <- c + (S / N) mean of (c_i' - c_i), for S of N nodes; every node counts the same
#include <mfl/algorithm/algorithms.h>

#include "extensions.h"

namespace {

class Scaffold final : public mfl::MethodOf<Scaffold> {
 public:
  explicit Scaffold(double eta) : eta_(eta) {}

  enum Vectors { kW, kCorrection, kOwn, kChange };
  std::vector<mfl::VectorFlow> vectors() const override {
    mfl::VectorFlow w = mfl::averaged("w");
    w.weighting = mfl::Weighting::kEqually;
    return {w, mfl::broadcast("c"), mfl::kept("c_i"), mfl::sent_up("change", mfl::Weighting::kEqually)};
  }

  template <class T>
  void step(mfl::NodeRound<T>& node, const mfl::Vector<T>& gradient) const {
    for (std::size_t i = 0; i < gradient.size(); ++i)
      node[kW][i] -= static_cast<T>(eta_) * (gradient[i] - node[kOwn][i] + node.sent(kCorrection)[i]);
  }

  template <class T>
  void end(mfl::NodeRound<T>& node) const {
    const T scale = static_cast<T>(1 / (static_cast<double>(node.steps) * eta_));
    for (std::size_t i = 0; i < node[kW].size(); ++i) {
      const T before = node[kOwn][i];
      node[kOwn][i] = before - node.sent(kCorrection)[i] + (node.sent(kW)[i] - node[kW][i]) * scale;
      node[kChange][i] = node[kOwn][i] - before;
    }
  }

  template <class T>
  void server(mfl::ServerRound<T>& round) const {
    const T share = static_cast<T>(static_cast<double>(round.counted) / static_cast<double>(round.nodes));
    for (std::size_t i = 0; i < round[kCorrection].size(); ++i)
      round[kCorrection][i] += share * round.mean(kChange)[i];
    round.take_means();
  }

 private:
  double eta_;
};

}  // namespace

void add_scaffold() {
  mfl::algorithms().add({{.name = "my-scaffold", .description = "gradients corrected by control variates"},
                         [](const mfl::StepOptions& steps, const mfl::ParameterValues&) {
                           return std::make_shared<Scaffold>(steps.eta);
                         }});
}
