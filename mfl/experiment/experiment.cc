#include "mfl/experiment/experiment.h"

#include <algorithm>
#include <utility>

namespace mfl {
namespace {

Cadence cadence_of(const Config& config) {
  constexpr std::uint64_t kRecords = 100;
  constexpr std::uint64_t kStepsOfBudget = 10;  // how many there will be is not known
  const std::uint64_t every = config.run.record_every != 0 ? config.run.record_every
                              : has_budget(config.run)     ? kStepsOfBudget
                                                           : run_length(config) / kRecords;
  return {std::max<std::uint64_t>(1, every), config.run.checkpoint_every};
}

BudgetRule budget_of(const Config& config, const Algorithm& algorithm) {
  BudgetRule rule{.seconds = config.run.budget_seconds, .bytes = config.run.budget_bytes};
  if (const auto descent = algorithm.method().descent(); descent && config.algorithm.adaptive_tau)
    rule.adaptive = TauRule{.eta = descent->eta,
                            .gamma = descent->gamma,
                            .phi = config.algorithm.phi,
                            .tau_max = config.algorithm.tau_max};
  return rule;
}

std::optional<VirtualTime> time_of(const Config& config) {
  if (config.devices == DevicesConfig{} && config.network == NetworkConfig{}) return std::nullopt;
  return VirtualTime{config.run.seed, config.devices, config.network, config.federation.round_deadline,
                     config.federation.quorum};
}

}  // namespace

Experiment::Experiment(Config given)
    : config(std::move(given)),
      model(&entry_of(config.model)),
      algorithm(make_algorithm(config.algorithm)),
      eta(effective_eta(config.algorithm)),
      lambda(effective_lambda(config.model)),
      steps(run_length(config)),
      batching{.batch_size = config.algorithm.batch_size,
               .drop_last = config.algorithm.drop_last,
               .by_epochs = counts_epochs(config.algorithm),
               .seed = config.run.seed},
      aggregator(make_aggregator(centralised() ? "mean" : config.federation.aggregator).value()),
      codecs(CodecChain::parse(centralised() ? "" : config.federation.codecs).value()),
      cadence(cadence_of(config)),
      losses(loss_rule_of(config, algorithm)),
      stop{config.run.target_loss, config.run.target_accuracy, config.run.patience},
      uses_gamma(mfl::uses_gamma(config.algorithm)),
      budget(budget_of(config, algorithm)) {
  if (centralised()) return;
  participation = {config.run.seed, config.federation.fraction_train, config.federation.quorum};
  time = time_of(config);
}

Population Experiment::population(std::size_t nodes, std::size_t parameters,
                                  std::function<std::size_t(std::size_t)> samples_of) const {
  constexpr std::uint64_t kWithAll = 0, kFirst = 1;  // rounds
  const auto bytes = config.run.precision == Precision::kF32 ? round_bytes<float> : round_bytes<double>;
  const RoundBytes all = bytes(algorithm, kWithAll, parameters, codecs),
                   between = bytes(algorithm, kFirst, parameters, codecs);
  return {nodes, participation, time, std::move(samples_of), batching, aggregator, all, between};
}

void Experiment::settle_eta(double measured) {
  AlgorithmConfig known = config.algorithm;
  known.eta = eta = measured;
  algorithm = make_algorithm(known);
  budget = budget_of(config, algorithm);
}

void Experiment::settle_evaluations(std::uint64_t every) {
  config.run.evaluate_every = losses.evaluate_every = every;
}

}  // namespace mfl
