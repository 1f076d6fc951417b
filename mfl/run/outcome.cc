#include "mfl/run/outcome.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "mfl/base/version.h"
#include "mfl/config/config_keys.h"
#include "mfl/config/entries.h"

namespace mfl {

RunSpec make_spec(const Experiment& experiment, std::size_t nodes, const std::string& train_digest) {
  const Config& config = experiment.config;
  const Algorithm& algorithm = experiment.algorithm;
  RunSpec spec;
  spec.name = config.run.name;
  spec.config = to_toml(config);
  spec.config_digest = config_digest(config);
  spec.problem = function_digest(config, train_digest);
  spec.mfl_version = version();
  spec.data = config.data.source;
  spec.model = config.model.name;
  spec.algorithm = algorithm.name;
  spec.precision = config.run.precision == Precision::kF32 ? "f32" : "f64";
  spec.nodes = nodes;
  spec.eta = experiment.eta;
  if (experiment.uses_gamma) spec.gamma = config.algorithm.gamma;
  if (!algorithm.centralised && !counts_epochs(config.algorithm) && !config.algorithm.adaptive_tau)
    spec.tau = algorithm.tau;
  spec.sampled =
      !algorithm.centralised && (config.federation.fraction_train < 1 || config.federation.quorum != 0);
  spec.planned_steps = experiment.steps;
  return spec;
}

template <class T>
TestLabels test_labels(const Experiment& experiment, const Problem<T>& problem) {
  TestLabels out =
      test_labels(problem.schema, experiment.model->targets, problem.federation.model->outputs());
  out.has_accuracy = problem.has_accuracy;
  return out;
}

std::vector<RunWarning> data_warnings(const std::vector<std::string>& constant_features) {
  constexpr std::size_t kMost = 3;
  const std::size_t count = constant_features.size();
  if (count == 0) return {};
  const auto named = std::span(constant_features).first(std::min(kMost, count));
  return {{"constant_feature", 0,
           fmt::format("{} of the features {} the same value in all training samples: {}{}", count,
                       count == 1 ? "has" : "have", fmt::join(named, ", "), count > kMost ? ", ..." : ""),
           "standardising gives such a feature no effect; --drop leaves it out"}};
}

std::vector<RunWarning> setting_warnings(const Config& config) {
  const Config defaults;
  const AlgorithmConfig& algorithm = config.algorithm;
  std::vector<RunWarning> out;
  const auto warn = [&](const std::string& what, std::string_view why, std::string hint) {
    out.push_back({"no_effect", 0, fmt::format("{} no effect: {} {}", what, brief_algorithm(algorithm), why),
                   std::move(hint)});
  };
  if (!uses_gamma(algorithm) && algorithm.gamma != defaults.algorithm.gamma && algorithm.gamma != 0)
    warn(fmt::format("gamma = {} has", algorithm.gamma), "has no momentum gamma",
         "leave gamma out, or use an algorithm with it, such as mfl");
  if (!entry_of(algorithm).centralised) return out;
  std::vector<std::string_view> unused;
  if (algorithm.tau) unused.emplace_back("tau");
  for (const Key& key : config_keys())
    if (key.table == "federation" && key.get(config) != key.get(defaults)) unused.push_back(key.key);
  if (!unused.empty())
    warn(fmt::format("{} {}", fmt::join(unused, ", "), unused.size() == 1 ? "has" : "have"),
         "has all samples in one place", "leave them out, or use a federated algorithm, such as fl");
  return out;
}

template <class T>
Result<void> check_target_accuracy(const Experiment& experiment, const Problem<T>& problem) {
  if (!experiment.stop.target_accuracy || (problem.federation.test && problem.has_accuracy)) return {};
  return fail(ErrorCode::kBadConfig,
              problem.has_accuracy ? "target_accuracy needs a test set"
                                   : "target_accuracy needs labels that are classes",
              problem.has_accuracy ? "set test or test_source in [data], or leave target_accuracy out"
                                   : "use target_loss or patience");
}

RunOutcome make_outcome(const RunRow& run, const Experiment& experiment) {
  RunOutcome out;
  out.run_id = run.id;
  out.status = run_status_name(run.status);
  out.message = run.message;
  out.config = experiment.config;
  out.warnings = setting_warnings(out.config);
  out.warnings.insert(out.warnings.end(), run.warnings.begin(), run.warnings.end());
  out.load_seconds = run.load_seconds;
  out.wall_seconds = run.wall_seconds;
  if (const auto schema = parse_schema(run.data_schema)) out.schema = *schema;
  if (measures_eta(out.config.algorithm, out.schema.own_data.value_or(false)))
    out.config.algorithm.eta = run.eta;
  if (!out.config.run.evaluate_every && experiment.needs_evaluations())
    if (const auto recorded = parse_config(run.config, run.id))
      out.config.run.evaluate_every = recorded->run.evaluate_every;
  if (run.summary) {
    const RunSummary& summary = *run.summary;
    out.final = {summary.final.step, summary.final.train_loss, summary.final.test_loss,
                 summary.final.test_accuracy};
    out.best_step = summary.best.step;
    out.best_train_loss = summary.best.train_loss;
    out.rounds = summary.rounds;
    out.bytes_up = summary.bytes_up;
    out.bytes_down = summary.bytes_down;
    out.digest = summary.digest;
    out.virtual_seconds = summary.virtual_seconds;
    out.test_metrics = summary.test_metrics;
  }
  return out;
}

template Result<void> check_target_accuracy(const Experiment&, const Problem<float>&);
template Result<void> check_target_accuracy(const Experiment&, const Problem<double>&);
template TestLabels test_labels(const Experiment&, const Problem<float>&);
template TestLabels test_labels(const Experiment&, const Problem<double>&);

}  // namespace mfl
