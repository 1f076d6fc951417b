#include "mfl/experiment/experiment.h"

#include <algorithm>
#include <utility>

#include "mfl/config/entries.h"
#include "mfl/model/tensors.h"

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
      uses_gamma(mfl::uses_gamma(config.algorithm)),
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
      budget(budget_of(config, algorithm)) {
  if (centralised()) return;
  participation = {config.run.seed, config.federation.fraction_train, config.federation.quorum};
  time = time_of(config);
}

template <class T>
std::shared_ptr<const Model<T>> Experiment::make_model(std::size_t columns, const Schema& schema) const {
  ModelShape shape{columns, schema.classes.size(),
                   effective_intercept(config.model, schema.own_data.value_or(false))};
  if (!schema.tensors.empty()) shape.tensors = parse_tensors(schema.tensors).value();
  return model->make<T>(shape);
}

Population Experiment::population(std::size_t nodes,
                                  std::function<std::size_t(std::size_t)> samples_of) const {
  if (centralised()) return {nodes, {}, std::nullopt, {}};
  return {nodes, participation, time, std::move(samples_of), batching, aggregator, codecs};
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

template std::shared_ptr<const Model<float>> Experiment::make_model(std::size_t, const Schema&) const;
template std::shared_ptr<const Model<double>> Experiment::make_model(std::size_t, const Schema&) const;

}  // namespace mfl
