#include "mfl/run/step_size.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "mfl/data/text.h"
#include "mfl/theory/curvature.h"

namespace mfl {
namespace {

// Squared.
double longest_row(const Samples<double>& samples) {
  double longest = 0;
  std::vector<double> row(samples.columns());
  for (std::size_t r = 0; r < samples.size(); ++r) {
    std::ranges::fill(row, 0);
    constexpr double kOnce = 1;
    samples.kernels().add_rows(samples.rows({r, 1}), &kOnce, row.data());
    longest = std::max(longest, samples.kernels().squared_norm(row.size(), row.data()));
  }
  return samples.data().scale * samples.data().scale * longest;
}

// Of the Gram matrix of batches, from that of all n rows and that of the longest row alone.
double expected_of_batches(double all, double longest, double n, double batch) {
  if (batch == 0 || batch >= n) return all;
  return n * (batch - 1) / (batch * (n - 1)) * all + (n - batch) / (batch * (n - 1)) * longest;
}

}  // namespace

Result<void> require_step_bound(const ModelEntry& model) {
  if (model.has_step_bound()) return {};
  return fail(ErrorCode::kBadConfig,
              fmt::format("eta = auto: model {} has no bound on its smoothness to derive a step size from",
                          model.name),
              "set eta in [algorithm]");
}

template <class T>
Result<double> node_smoothness(const Experiment& experiment, const Federation<T>& federation, Shard node) {
  MFL_CHECK(require_step_bound(*experiment.model));
  const Samples<double> samples = federation.train.in_f64(node);
  double gram = expected_of_batches(power_gram_eigenvalue(samples, {0, node.count}), longest_row(samples),
                                    static_cast<double>(node.count),
                                    static_cast<double>(experiment.batching.batch_size));
  if (const T* weights = federation.train.weights(node.first))
    gram *= static_cast<double>(*std::max_element(weights, weights + node.count));
  const auto& step_bound = experiment.model->step_bound;
  return step_bound ? step_bound(gram, experiment.lambda)
                    : federation.model->smoothness(gram, experiment.lambda).value();
}

double step_size_of(double largest_smoothness) {
  if (!(largest_smoothness > 0)) return 1;  // nothing to learn: any step will do
  const double step = 1 / largest_smoothness;
  const int exponent = static_cast<int>(std::floor(std::log10(step))) - 1;
  const double digits = std::floor(step / std::pow(10, exponent));
  return parse_number(fmt::format("{}e{}", digits, exponent)).value_or(step);
}

template <class T>
Result<void> settle_eta(Experiment& experiment, const Problem<T>& problem, Ranks& ranks) {
  if (!measures_eta(experiment.config.algorithm, problem.schema.own_data.value_or(false))) return {};
  const auto largest = [&]() -> Result<double> {
    double out = 0;
    for (const Shard& node : problem.federation.nodes) {
      MFL_TRY(const double smoothness, node_smoothness(experiment, problem.federation, node));
      out = std::max(out, smoothness);
    }
    return out;
  };
  MFL_TRY(const double smoothness, ranks.largest(largest()));
  const double eta = step_size_of(smoothness);
  if (eta >= static_cast<double>(std::numeric_limits<T>::min())) {
    experiment.settle_eta(eta);
    return {};
  }
  return fail(
      ErrorCode::kBadData,
      fmt::format("the smoothness of the loss is {:.3g}: no step is small enough, so a feature is too large",
                  smoothness),
      "look at the largest features, or standardise them (--standardise full)");
}

#define MFL_INSTANTIATE(T)                                                                 \
  template Result<double> node_smoothness(const Experiment&, const Federation<T>&, Shard); \
  template Result<void> settle_eta(Experiment&, const Problem<T>&, Ranks&);
MFL_INSTANTIATE(float)
MFL_INSTANTIATE(double)
#undef MFL_INSTANTIATE

}  // namespace mfl
