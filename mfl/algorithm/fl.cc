// Federated averaging: every node takes tau steps of gradient descent, and the server averages the weights.
//
//   at a node, each step   w_i <- w_i - eta grad F_i(w_i),  from the broadcast w
//   at the server          w <- sum |D_i| w_i / |D|
//
// McMahan et al., "Communication-efficient learning of deep networks from decentralized data", 2017; the paper's FL. With all
// samples in one place and a step per round it is gradient descent, gd.
#include "mfl/algorithm/algorithms.h"
#include "mfl/solve/rules.h"

namespace mfl {
namespace {

class FederatedAveraging final : public MethodOf<FederatedAveraging> {
 public:
  explicit FederatedAveraging(double eta) : rule_{eta} {}

  std::vector<VectorFlow> vectors() const override { return {averaged("w")}; }
  std::optional<Descent> descent() const override { return Descent{rule_.eta, 0}; }

  template <class T>
  void step(NodeRound<T>& node, const Vector<T>& gradient) const {
    rule_.step(node.kernels, gradient, node[0]);
  }

 private:
  GradientDescent rule_;
};

}  // namespace

std::shared_ptr<const Method> federated_averaging(double eta) {
  return std::make_shared<FederatedAveraging>(eta);
}

}  // namespace mfl
