#include "mfl/reproduce/cost.h"

#include <map>
#include <string_view>

namespace mfl {
namespace {

bool centralised(std::string_view algorithm) { return algorithm == "gd" || algorithm == "mgd"; }

// FL's final loss by seed.
std::map<std::uint64_t, double> cost_targets(const Evidence& evidence, std::string_view model) {
  std::map<std::uint64_t, double> targets;
  for (const RunEvidence* run : select(evidence, figure_4_query(evidence, model, "fl")))
    if (!run->diverged) targets.emplace(run->seed, run->final_loss);
  return targets;
}

std::optional<CostRow> cost_of(const Evidence& evidence, const RunQuery& query) {
  const auto targets = cost_targets(evidence, query.model);
  CostRow row;
  row.model = query.model;
  row.algorithm = query.algorithm;
  for (const RunEvidence* run : select(evidence, query)) {
    const auto target = targets.find(run->seed);
    if (target == targets.end()) continue;
    row.gamma = run->gamma;
    row.tau = run->tau;
    ++row.seeds;
    row.target += target->second;
    const auto there = first_at(*run, target->second);
    if (!there) continue;
    ++row.reached;
    row.steps += static_cast<double>(there->step);
    row.rounds += centralised(run->algorithm) ? 0 : static_cast<double>(there->round);
    row.bytes_up += static_cast<double>(there->bytes_up);
    row.bytes_down += static_cast<double>(there->bytes_down);
  }
  if (row.seeds == 0) return std::nullopt;
  row.target /= static_cast<double>(row.seeds);
  for (double* sum : {&row.steps, &row.rounds, &row.bytes_up, &row.bytes_down})
    if (row.reached > 0) *sum /= static_cast<double>(row.reached);
  return row;
}

void compare_with_fl(std::vector<CostRow>& rows, const CostRow& fl) {
  const double bytes = fl.bytes_up + fl.bytes_down;
  for (CostRow& row : rows)
    if (row.model == fl.model && !centralised(row.algorithm) && row.reached > 0 && bytes > 0)
      row.bytes_to_fl = (row.bytes_up + row.bytes_down) / bytes;
}

void add_tau_1(const Evidence& evidence, std::vector<CostRow>& rows) {
  for (const std::string_view algorithm : {"fl", "mfl"}) {
    RunQuery query = figure_4_query(evidence, "svm", algorithm);
    query.tau = 1;
    const auto row = cost_of(evidence, query);
    if (!row || evidence.tau == 1) continue;
    rows.push_back(*row);
    if (algorithm != "mfl") continue;
    rows.push_back(*row);
    rows.back().d_alone = true;
    rows.back().bytes_up /= 2;
    rows.back().bytes_down /= 2;
  }
}

}  // namespace

std::vector<CostRow> cost_rows(const Evidence& evidence) {
  std::vector<CostRow> rows;
  std::vector<CostRow> baselines;
  for (const std::string_view model : {"svm", "squared-svm", "linear", "logistic"}) {
    for (const std::string_view algorithm : {"fl", "mfl", "gd", "mgd"})
      if (const auto row = cost_of(evidence, figure_4_query(evidence, model, algorithm))) {
        rows.push_back(*row);
        if (algorithm == "fl") baselines.push_back(*row);
      }
    if (model == "svm") add_tau_1(evidence, rows);
  }
  for (const CostRow& fl : baselines) compare_with_fl(rows, fl);
  return rows;
}

std::vector<CostRow> gamma_cost_rows(const Evidence& evidence) {
  const auto fl = cost_of(evidence, figure_4_query(evidence, "svm", "fl"));
  if (!fl) return {};
  RunQuery query = figure_4_query(evidence, "svm", "mfl");
  query.gamma.reset();
  std::vector<CostRow> rows;
  for (const double gamma : gammas_of(evidence, query)) {
    query.gamma = gamma;
    if (const auto row = cost_of(evidence, query)) rows.push_back(*row);
  }
  compare_with_fl(rows, *fl);
  return rows;
}

std::optional<double> break_even_gamma(const std::vector<CostRow>& rows) {
  for (const CostRow& row : rows)
    if (row.reached == row.seeds && row.bytes_to_fl && *row.bytes_to_fl <= 1) return row.gamma;
  return std::nullopt;
}

}  // namespace mfl
