// The table of algorithms. A program adds its own before it reads a configuration:
//
//   algorithms().add({{.name = "fedprox",
//                      .parameters = {{.name = "mu", .help = "proximal weight", .range = kNotNegative}},
//                      .description = "..."},
//                     [](const StepOptions& steps, const ParameterValues& values) {
//                       return std::make_shared<FedProx>(steps.eta, values.number("mu"));
//                     }});
//
// An experiment then says algorithm = "fedprox(0.1)".
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "mfl/algorithm/algorithm.h"
#include "mfl/base/catalog.h"
#include "mfl/base/result.h"

namespace mfl {

// Settings that algorithms have in common, each a key of an experiment.
struct StepOptions {
  double eta = 0;
  double gamma = 0;  // of algorithms with uses_gamma
};

struct AlgorithmEntry : CatalogEntry {
  std::function<std::shared_ptr<const Method>(const StepOptions&, const ParameterValues&)> make = {};
  bool uses_gamma = false;
  bool centralised = false;  // all samples in one place, a step per round
};

Catalog<AlgorithmEntry>& algorithms();

// From a spec such as "mfl" or "fedprox(0.1)"; its name is the canonical spec. `tau` counts where the algorithm is not centralised.
Result<Algorithm> make_algorithm(std::string_view spec, const StepOptions& steps, std::uint64_t tau);

Algorithm make_gd(double eta);
Algorithm make_mgd(double eta, double gamma);
Algorithm make_fl(double eta, std::uint64_t tau);
Algorithm make_mfl(double eta, double gamma, std::uint64_t tau);

// The methods of the four.
std::shared_ptr<const Method> federated_averaging(double eta);
std::shared_ptr<const Method> momentum_averaging(double eta, double gamma);

}  // namespace mfl
