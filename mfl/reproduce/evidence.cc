#include "mfl/reproduce/evidence.h"

#include <algorithm>
#include <limits>
#include <set>
#include <tuple>

namespace mfl {

std::vector<const RunEvidence*> select(const Evidence& evidence, const RunQuery& query) {
  std::vector<const RunEvidence*> found;
  for (const RunEvidence& run : evidence.runs)
    if ((query.model.empty() || run.model == query.model) &&
        (query.algorithm.empty() || run.algorithm == query.algorithm) &&
        (!query.gamma || run.gamma == *query.gamma) && (!query.tau || run.tau == *query.tau) &&
        (!query.steps || run.steps == *query.steps) && (!query.seed || run.seed == *query.seed))
      found.push_back(&run);
  std::ranges::stable_sort(
      found, {}, [](const RunEvidence* run) { return std::tuple(run->seed, run->gamma, run->tau); });
  return found;
}

bool asked_for(const Evidence& evidence, std::string_view figure) {
  return evidence.figures.empty() || std::ranges::any_of(evidence.figures, [&](const std::string& asked) {
           return asked.starts_with(figure);
         });
}

RunQuery figure_4_query(const Evidence& evidence, std::string_view model, std::string_view algorithm) {
  RunQuery query{model, algorithm};
  query.steps = evidence.steps;
  if (algorithm == "mfl" || algorithm == "mgd") query.gamma = evidence.gamma;
  if (algorithm == "mfl" || algorithm == "fl") query.tau = evidence.tau;
  return query;
}

std::vector<double> gammas_of(const Evidence& evidence, const RunQuery& query) {
  std::set<double> values;
  for (const RunEvidence* run : select(evidence, query)) values.insert(run->gamma);
  return {values.begin(), values.end()};
}

std::vector<std::uint64_t> taus_of(const Evidence& evidence, const RunQuery& query) {
  std::set<std::uint64_t> values;
  for (const RunEvidence* run : select(evidence, query)) values.insert(run->tau);
  return {values.begin(), values.end()};
}

std::vector<std::uint64_t> seeds_of(const Evidence& evidence) {
  std::set<std::uint64_t> values;
  for (const RunEvidence& run : evidence.runs) values.insert(run.seed);
  return {values.begin(), values.end()};
}

std::optional<double> mean_final_loss(const std::vector<const RunEvidence*>& runs) {
  if (runs.empty()) return std::nullopt;
  double sum = 0;
  for (const RunEvidence* run : runs) {
    if (run->diverged) return std::numeric_limits<double>::infinity();
    sum += run->final_loss;
  }
  return sum / static_cast<double>(runs.size());
}

std::optional<RoundEvidence> first_at(const RunEvidence& run, double target) {
  const auto found =
      std::ranges::find_if(run.rounds, [&](const RoundEvidence& round) { return round.loss <= target; });
  return found == run.rounds.end() ? std::nullopt : std::optional(*found);
}

}  // namespace mfl
