#include "mfl/algorithm/algorithms.h"

#include <utility>
#include <vector>

namespace mfl {
namespace {

std::vector<AlgorithmEntry> built_in() {
  const auto plain = [](const StepOptions& steps, const ParameterValues&) {
    return federated_averaging(steps.eta);
  };
  const auto momentum = [](const StepOptions& steps, const ParameterValues&) {
    return momentum_averaging(steps.eta, steps.gamma);
  };
  return {
      {{.name = "gd", .description = "gradient descent on all samples in one place"}, plain, false, true},
      {{.name = "mgd", .description = "momentum gradient descent on all samples in one place"},
       momentum,
       true,
       true},
      {{.name = "fl", .aliases = {"fedavg"}, .description = "gradient descent at the nodes, w averaged"},
       plain},
      {{.name = "mfl", .description = "momentum gradient descent at the nodes, w and d averaged"},
       momentum,
       true},
  };
}

}  // namespace

Catalog<AlgorithmEntry>& algorithms() {
  static Catalog<AlgorithmEntry> catalog("algorithm", built_in());
  return catalog;
}

Result<Algorithm> make_algorithm(std::string_view spec, const StepOptions& steps, std::uint64_t tau) {
  MFL_TRY(auto parsed, parse_spec(spec, algorithms()));
  const bool centralised = parsed.entry->centralised;
  return Algorithm(std::move(parsed.text), parsed.entry->make(steps, parsed.values), centralised ? 1 : tau,
                   centralised);
}

Algorithm make_gd(double eta) { return {"gd", federated_averaging(eta), 1, true}; }
Algorithm make_mgd(double eta, double gamma) { return {"mgd", momentum_averaging(eta, gamma), 1, true}; }
Algorithm make_fl(double eta, std::uint64_t tau) { return {"fl", federated_averaging(eta), tau}; }
Algorithm make_mfl(double eta, double gamma, std::uint64_t tau) {
  return {"mfl", momentum_averaging(eta, gamma), tau};
}

}  // namespace mfl
