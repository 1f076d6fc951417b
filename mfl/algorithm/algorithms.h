// The table of algorithms. Most are combinations of the axes of axes.h, under the name that the field has for them. A program adds its own
// before it reads a configuration:
//
//   algorithms().add({{.name = "my-prox",
//                      .parameters = {{.name = "mu", .help = "proximal weight", .range = kNotNegative}},
//                      .description = "..."},
//                     [](const StepOptions& steps, const ParameterValues& values) {
//                       return std::make_shared<MyProx>(steps.eta, values.number("mu"));
//                     }});
//
// An experiment then says algorithm = "my-prox(0.1)".
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "mfl/algorithm/algorithm.h"
#include "mfl/algorithm/axes.h"
#include "mfl/base/catalog.h"
#include "mfl/base/result.h"

namespace mfl {

struct AlgorithmEntry : CatalogEntry {
  // One of the two.
  std::function<std::shared_ptr<const Method>(const StepOptions&, const ParameterValues&)> make = {};
  std::function<AxisSpecs(const ParameterValues&)> axes = {};
  bool centralised = false;  // all samples in one place, a step per round
};

Catalog<AlgorithmEntry>& algorithms();

// From a spec such as "mfl" or "fedprox(0.1)"; its name is the canonical spec, with the options that replace parts of it. `tau` counts where the algorithm is not centralised.
// kBadConfig also where the options name a choice on an axis that the algorithm does not have, or that its others exclude.
Result<Algorithm> make_algorithm(std::string_view spec, const StepOptions& steps, std::uint64_t tau);

// Whether gamma has an effect. Of a spec and options that make_algorithm accepts; false for an algorithm without axes.
bool uses_gamma(std::string_view spec, const StepOptions& steps);

Algorithm make_gd(double eta);
Algorithm make_mgd(double eta, double gamma);
Algorithm make_fl(double eta, std::uint64_t tau);
Algorithm make_mfl(double eta, double gamma, std::uint64_t tau);

}  // namespace mfl
