#include "mfl/study/plan.h"

#include <fmt/core.h>

#include <algorithm>

#include "mfl/algorithm/algorithms.h"
#include "mfl/config/entries.h"

namespace mfl {
namespace {

// "fedprox" or "fedadam(beta1=0.9)" with one more parameter.
std::string with_parameter(const std::string& spec, const std::string& name, double value) {
  const std::size_t end = spec.rfind(')');
  if (end == std::string::npos) return fmt::format("{}({}={})", spec, name, value);
  const bool none = spec.find_last_not_of(" (", end - 1) < spec.find('(');
  return fmt::format("{}{}{}={})", spec.substr(0, end), none ? "" : ", ", name, value);
}

bool is_parameter_of(const std::string& spec, const std::string& name) {
  const std::size_t end = spec.find_first_of("( ");
  const AlgorithmEntry* entry = algorithms().find(spec.substr(0, end));
  return entry != nullptr &&
         std::ranges::find(entry->parameters, name, &Parameter::name) != entry->parameters.end();
}

Result<void> set_all(Config& config, const std::vector<KeyValue>& values) {
  for (const auto& [key, text] : values) MFL_CHECK(set_key(config, key, text));
  return {};
}

Result<void> set_algorithm(Config& config, const StudyAlgorithm& algorithm, const StudyCandidate& candidate) {
  std::string spec = algorithm.spec;
  const bool in_spec = candidate.value && is_parameter_of(spec, algorithm.tuned);
  if (in_spec) spec = with_parameter(spec, algorithm.tuned, *candidate.value);
  MFL_CHECK(set_key(config, "algorithm.name", spec, algorithm.label));
  MFL_CHECK(set_all(config, algorithm.set));
  if (candidate.value && !in_spec)
    MFL_CHECK(set_key(config, "algorithm." + algorithm.tuned, fmt::format("{}", *candidate.value)));
  config.algorithm.eta = candidate.eta;
  return {};
}

Result<PlannedStudyRun> planned(const StudyPlan& plan, const StudyRunKey& key) {
  MFL_TRY(Config config, study_config(plan, key));
  return PlannedStudyRun{key, std::move(config)};
}

}  // namespace

std::string_view metric_text(StudyMetric metric) {
  return metric == StudyMetric::kTrainLoss ? "training loss" : "test accuracy";
}

std::vector<StudyCandidate> candidates(const StudyPlan& plan, std::size_t problem, std::size_t algorithm) {
  std::vector<StudyCandidate> out;
  for (const double eta : plan.problems[problem].eta) {
    if (plan.algorithms[algorithm].tuned.empty()) out.push_back({eta, {}});
    for (const double value : plan.algorithms[algorithm].values) out.push_back({eta, value});
  }
  return out;
}

std::vector<StudyCell> cells_of(const StudyPlan& plan) {
  std::vector<StudyCell> cells;
  for (std::size_t problem = 0; problem < plan.problems.size(); ++problem)
    for (std::size_t split = 0; split < plan.splits.size(); ++split) cells.push_back({problem, split});
  return cells;
}

Result<Config> study_config(const StudyPlan& plan, const StudyRunKey& key) {
  const StudyProblem& problem = plan.problems[key.cell.problem];
  const StudyAlgorithm& algorithm = plan.algorithms[key.algorithm];
  Config config = plan.base;
  MFL_CHECK(set_key(config, "data.source", problem.data, problem.label));
  MFL_CHECK(set_key(config, "model.name", problem.model, problem.label));
  MFL_CHECK(set_all(config, problem.set));
  MFL_CHECK(set_key(config, "federation.partition", plan.splits[key.cell.split]));
  MFL_CHECK(
      set_algorithm(config, algorithm, candidates(plan, key.cell.problem, key.algorithm)[key.candidate]));
  config.run.seed = key.seed;
  if (auto valid = validate(config); !valid) {
    Error error = std::move(valid).error();
    error.message = fmt::format("{} on {}, {}: {}", algorithm.label, problem.label,
                                plan.splits[key.cell.split], error.message);
    return tl::unexpected<Error>(std::move(error));
  }
  return config;
}

Result<std::vector<PlannedStudyRun>> tuning_runs(const StudyPlan& plan) {
  std::vector<PlannedStudyRun> runs;
  for (const StudyCell& cell : cells_of(plan))
    for (std::size_t algorithm = 0; algorithm < plan.algorithms.size(); ++algorithm)
      for (std::size_t i = 0; i < candidates(plan, cell.problem, algorithm).size(); ++i)
        for (const std::uint64_t seed : plan.tuning_seeds) {
          MFL_TRY(PlannedStudyRun run, planned(plan, {cell, algorithm, i, seed}));
          runs.push_back(std::move(run));
        }
  return runs;
}

Result<std::vector<PlannedStudyRun>> reported_runs(const StudyPlan& plan, const ChosenCandidates& chosen) {
  std::vector<PlannedStudyRun> runs;
  const std::vector<StudyCell> cells = cells_of(plan);
  for (std::size_t cell = 0; cell < cells.size(); ++cell)
    for (std::size_t algorithm = 0; algorithm < plan.algorithms.size(); ++algorithm)
      for (const std::uint64_t seed : plan.seeds) {
        MFL_TRY(PlannedStudyRun run, planned(plan, {cells[cell], algorithm, chosen[cell][algorithm], seed}));
        runs.push_back(std::move(run));
      }
  return runs;
}

std::string candidate_text(const StudyPlan& plan, std::size_t algorithm, const StudyCandidate& candidate) {
  std::string out = fmt::format("eta {}", candidate.eta);
  if (candidate.value) out += fmt::format(", {} {}", plan.algorithms[algorithm].tuned, *candidate.value);
  return out;
}

}  // namespace mfl
