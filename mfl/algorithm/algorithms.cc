#include "mfl/algorithm/algorithms.h"

#include <fmt/core.h>

#include <string>
#include <utility>
#include <vector>

#include "mfl/algorithm/ranges.h"

namespace mfl {
namespace {

constexpr NumberRange kZeroOrOne{[](double x) { return x == 0 || x == 1; }, "0 or 1"};

Parameter parameter(std::string name, std::string help, NumberRange range,
                    std::optional<double> default_value = std::nullopt) {
  return {.name = std::move(name), .help = std::move(help), .range = range, .default_value = default_value};
}

AlgorithmEntry preset(std::string name, std::string description, AxisSpecs axes) {
  return {{.name = std::move(name), .description = std::move(description)},
          {},
          [axes = std::move(axes)](const ParameterValues&) { return axes; }};
}

AlgorithmEntry preset(std::string name, std::vector<Parameter> parameters, std::string description,
                      std::function<AxisSpecs(const ParameterValues&)> axes) {
  return {
      {.name = std::move(name), .parameters = std::move(parameters), .description = std::move(description)},
      {},
      std::move(axes)};
}

AlgorithmEntry with_alias(AlgorithmEntry entry, std::string alias) {
  entry.aliases.push_back(std::move(alias));
  return entry;
}

AlgorithmEntry in_one_place(AlgorithmEntry entry) {
  entry.centralised = true;
  return entry;
}

Parameter whole(Parameter one) {
  one.whole = true;
  return one;
}

// An adaptive server step, with its parameters.
AlgorithmEntry adaptive_preset(std::string name, std::string description, const std::string& step) {
  return preset(std::move(name), server_steps().find(step)->parameters, std::move(description),
                [step](const ParameterValues& v) {
                  const auto beta2 = v.find("beta2");
                  return AxisSpecs{.server_step = fmt::format("{}(beta1={}, {}server_lr={}, epsilon={})",
                                                              step, v.number("beta1"),
                                                              beta2 ? fmt::format("beta2={}, ", *beta2) : "",
                                                              v.number("server_lr"), v.number("epsilon"))};
                });
}

std::vector<AlgorithmEntry> built_in_algorithms() {
  using V = ParameterValues;
  const Parameter server_lr = parameter("server_lr", "step size of the server", kPositive, 1);
  return {
      in_one_place(preset("gd", "gradient descent on all samples in one place", {})),
      in_one_place(
          preset("mgd", "momentum gradient descent on all samples in one place", {.momentum = "average"})),
      with_alias(preset("fl", "gradient descent at the nodes, w averaged", {}), "fedavg"),
      preset("mfl", "momentum gradient descent at the nodes, w and d averaged", {.momentum = "average"}),
      preset("fednag", "mfl with Nesterov's form of momentum", {.momentum = "average", .nesterov = true}),
      preset("fedprox", {parameter("mu", "weight of the distance to w", kNotNegative)},
             "fl with nodes held back near w",
             [](const V& v) { return AxisSpecs{.correction = fmt::format("proximal({})", v.number("mu"))}; }),
      preset("fedavgm",
             {parameter("beta", "momentum of the server", kFraction, 0.9), server_lr,
              whole(parameter("nesterov", "Nesterov's form, or the heavy ball", kZeroOrOne, 0))},
             "fl with momentum at the server",
             [](const V& v) {
               return AxisSpecs{.server_step = fmt::format(
                                    "{}({}, {})", v.number("nesterov") == 1 ? "nesterov" : "heavy-ball",
                                    v.number("beta"), v.number("server_lr"))};
             }),
      preset("slowmo",
             {parameter("beta", "slow momentum", kFraction, 0.7),
              parameter("alpha", "slow step size", kPositive, 1)},
             "fl with slow momentum at the server",
             [](const V& v) {
               return AxisSpecs{.server_step =
                                    fmt::format("slow({}, {})", v.number("beta"), v.number("alpha"))};
             }),
      adaptive_preset("fedadam", "fl with Adam at the server", "adam"),
      adaptive_preset("fedyogi", "fl with Yogi at the server", "yogi"),
      adaptive_preset("fedadagrad", "fl with Adagrad at the server", "adagrad"),
      preset("scaffold", {server_lr}, "fl with the nodes' drift corrected by control variates",
             [](const V& v) {
               return AxisSpecs{.correction = "control-variates",
                                .server_step = fmt::format("average({})", v.number("server_lr"))};
             }),
      preset("mime-lite", {parameter("beta", "share of the momentum in a step", kFraction, 0.9)},
             "momentum of full gradients, fixed at the nodes within a round",
             [](const V& v) { return AxisSpecs{.momentum = fmt::format("frozen({})", v.number("beta"))}; }),
      preset("fedcm", {parameter("alpha", "share of the gradient in a step", kShare, 0.1)},
             "nodes mix the direction of the last round into their steps",
             [](const V& v) {
               return AxisSpecs{.momentum = fmt::format("client-global({})", v.number("alpha"))};
             }),
      preset("fednova", "fl for nodes that take different numbers of steps", {.server_step = "normalised"}),
      preset(
          "feddyn", {parameter("alpha", "weight of the regulariser", kPositive, 0.01)},
          "nodes regularised such that all agree at the optimum",
          [](const V& v) { return AxisSpecs{.correction = fmt::format("dynamic({})", v.number("alpha"))}; }),
      preset("fedacg",
             {parameter("lambda", "momentum of the server", kFraction, 0.85),
              parameter("beta", "weight of the distance to the start", kNotNegative, 0)},
             "nodes start where the server's momentum leads",
             [](const V& v) {
               const double beta = v.number("beta");
               return AxisSpecs{.correction = beta == 0 ? "none" : fmt::format("proximal({})", beta),
                                .server_step = fmt::format("lookahead({})", v.number("lambda"))};
             }),
      preset("mfl-c", "mfl with the nodes' drift corrected by control variates",
             {.correction = "control-variates", .momentum = "average"}),
      preset("scaffold-acg", {parameter("lambda", "momentum of the server", kFraction, 0.85)},
             "scaffold whose nodes start where the server's momentum leads",
             [](const V& v) {
               return AxisSpecs{.correction = "control-variates",
                                .server_step = fmt::format("lookahead({})", v.number("lambda"))};
             }),
      preset("scaffold-m", {parameter("alpha", "share of the gradient in a step", kShare, 0.1)},
             "scaffold with the direction of the last round in its steps",
             [](const V& v) {
               return AxisSpecs{.correction = "control-variates",
                                .momentum = fmt::format("client-global({})", v.number("alpha"))};
             }),
      preset("ghbm",
             {parameter("beta", "weight of the momentum", kNotNegative, 0.9),
              whole(parameter("window", "rounds that it spans", kModels, 10))},
             "nodes follow the mean move of the server's last models",
             [](const V& v) {
               return AxisSpecs{.momentum =
                                    fmt::format("window({}, {})", v.number("beta"), v.number("window"))};
             }),
  };
}

bool has_axes(const StepOptions& steps) {
  return !steps.correction.empty() || !steps.momentum.empty() || !steps.server_step.empty() ||
         steps.sync_momentum > 1;
}

// The spec with what replaces parts of it: "mfl momentum=reset".
std::string full_name(std::string spec, const StepOptions& steps) {
  const auto add = [&](std::string_view axis, const std::string& choice) {
    if (!choice.empty()) spec += fmt::format(" {}={}", axis, choice);
  };
  add("correction", steps.correction);
  add("momentum", steps.momentum);
  add("server_step", steps.server_step);
  if (steps.sync_momentum > 1) add("sync_momentum", std::to_string(steps.sync_momentum));
  return spec;
}

Result<Axes> axes_of(const Spec<AlgorithmEntry>& spec, const StepOptions& steps) {
  AxisSpecs specs = spec.entry->axes(spec.values);
  if (!steps.correction.empty()) specs.correction = steps.correction;
  if (!steps.momentum.empty()) specs.momentum = steps.momentum;
  if (!steps.server_step.empty()) specs.server_step = steps.server_step;
  return parse_axes(specs, steps);
}

Algorithm made(std::string_view spec, const StepOptions& steps, std::uint64_t tau) {
  return make_algorithm(spec, steps, tau).value();
}

}  // namespace

Catalog<AlgorithmEntry>& algorithms() {
  static Catalog<AlgorithmEntry> catalog("algorithm", built_in_algorithms());
  return catalog;
}

Result<Algorithm> make_algorithm(std::string_view spec, const StepOptions& steps, std::uint64_t tau) {
  MFL_TRY(auto parsed, parse_spec(spec, algorithms()));
  const bool centralised = parsed.entry->centralised;
  if (has_axes(steps) && (centralised || !parsed.entry->axes))
    return fail(ErrorCode::kBadConfig,
                fmt::format("{} has no correction, momentum, server_step or sync_momentum to choose",
                            parsed.entry->name),
                "leave them out, or use an algorithm such as fl or mfl");
  std::shared_ptr<const Method> method;
  if (parsed.entry->axes) {
    MFL_TRY(Axes axes, axes_of(parsed, steps));
    method = compose(std::move(axes));
  } else {
    method = parsed.entry->make(steps, parsed.values);
  }
  return Algorithm(full_name(std::move(parsed.text), steps), std::move(method), centralised ? 1 : tau,
                   centralised);
}

bool uses_gamma(std::string_view spec, const StepOptions& steps) {
  const auto parsed = parse_spec(spec, algorithms()).value();
  return parsed.entry->axes && axes_of(parsed, steps).value().uses_gamma();
}

Algorithm make_gd(double eta) { return made("gd", {.eta = eta}, 1); }
Algorithm make_mgd(double eta, double gamma) { return made("mgd", {.eta = eta, .gamma = gamma}, 1); }
Algorithm make_fl(double eta, std::uint64_t tau) { return made("fl", {.eta = eta}, tau); }
Algorithm make_mfl(double eta, double gamma, std::uint64_t tau) {
  return made("mfl", {.eta = eta, .gamma = gamma}, tau);
}

}  // namespace mfl
