#include "mfl/theory/divergence.h"

#include <memory>

#include "mfl/theory/norm.h"

namespace mfl {

GradientDivergence measure_divergence(const Model<double>& model, const Samples<double>& samples,
                                      std::span<const Shard> nodes, double lambda, const Vector<double>& w,
                                      const ForEach* run) {
  const std::unique_ptr<Workspace> workspace = model.make_workspace(1, 1);
  Vector<double> own(w.size()), all(w.size());
  const auto gradient_of = [&](Shard rows) {
    Item<double> item{.w = w.data(), .gradient = own.data(), .lambda = lambda, .wants_loss = false};
    model.loss_and_gradient(samples, rows, std::span(&item, 1), *workspace, run);
  };
  double total = 0;
  for (const Shard& node : nodes) total += static_cast<double>(node.count);
  for (const Shard& node : nodes) {
    gradient_of(node);
    const double weight = static_cast<double>(node.count) / total;
    for (std::size_t j = 0; j < all.size(); ++j) all[j] += weight * own[j];
  }
  GradientDivergence out;
  out.gradient = norm(samples.kernels(), all);
  for (const Shard& node : nodes) {
    gradient_of(node);
    for (std::size_t j = 0; j < all.size(); ++j) own[j] -= all[j];
    out.nodes.push_back(norm(samples.kernels(), own));
    out.mean += static_cast<double>(node.count) / total * out.nodes.back();
  }
  return out;
}

}  // namespace mfl
