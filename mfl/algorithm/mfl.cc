// Momentum federated learning: every node takes tau steps of momentum gradient descent, and the server averages weights and momentum.
//
//   at a node, each step   d_i <- gamma d_i + grad F_i(w_i);  w_i <- w_i - eta d_i,  from the broadcast w and d
//   at the server          w <- sum |D_i| w_i / |D|;  d <- sum |D_i| d_i / |D|
//
// Liu, Chen, Chen, Zhang, "Accelerating federated learning via momentum gradient descent", 2020, Algorithm 1. With all samples in one
// place and a step per round it is momentum gradient descent, mgd.
#include "mfl/algorithm/algorithms.h"
#include "mfl/solve/rules.h"

namespace mfl {
namespace {

class MomentumAveraging final : public MethodOf<MomentumAveraging> {
 public:
  MomentumAveraging(double eta, double gamma) : rule_{eta, gamma} {}

  std::vector<VectorFlow> vectors() const override { return {averaged("w"), averaged("d")}; }
  std::optional<Descent> descent() const override { return Descent{rule_.eta, rule_.gamma}; }

  template <class T>
  void step(NodeRound<T>& node, const Vector<T>& gradient) const {
    rule_.step(node.kernels, gradient, node[0], node[1]);
  }

 private:
  Momentum rule_;
};

}  // namespace

std::shared_ptr<const Method> momentum_averaging(double eta, double gamma) {
  return std::make_shared<MomentumAveraging>(eta, gamma);
}

}  // namespace mfl
