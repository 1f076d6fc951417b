#include "mfl/report/theory.h"

#include <fmt/core.h>

#include <algorithm>

#include "mfl/report/table.h"

namespace mfl {
namespace {

std::string optional_text(const std::optional<double>& value) {
  return value ? number_text(*value) : "not applicable";
}

void add_node_range(TheoryTable& table, const std::string& name, const std::vector<double>& values,
                    const std::string& meaning) {
  if (values.empty()) return;
  const auto [least, most] = std::ranges::minmax(values);
  table.rows.push_back(
      {name, values.size() == 1 ? number_text(least) : fmt::format("{:.4g} to {:.4g}", least, most), "",
       meaning});
}

// A constant of the run and, beside it, that of FL.
void add_pair(TheoryTable& table, const std::string& name, const Diagnosis& diagnosis,
              double PathConstants::*member, const std::string& meaning) {
  const auto& run = diagnosis.run.constants;
  const std::string fl =
      diagnosis.fl && diagnosis.fl->constants ? number_text((*diagnosis.fl->constants).*member) : "";
  table.rows.push_back({name, run ? number_text((*run).*member) : "-", fl, meaning});
}

TheoryTable constants_table(const Diagnosis& diagnosis) {
  TheoryTable table{"",
                    {{"constant", Align::kLeft},
                     {diagnosis.run.algorithm, Align::kRight},
                     {diagnosis.fl ? diagnosis.fl->algorithm : "", Align::kRight},
                     {"what it is", Align::kLeft}},
                    {}};
  const Curvature& curvature = *diagnosis.curvature;
  const Optimum& optimum = *diagnosis.optimum;
  add_node_range(table, "beta_i", curvature.node_beta, "smoothness of each node's loss");
  const auto add = [&](std::string name, std::string value, std::string meaning) {
    table.rows.push_back({std::move(name), std::move(value), "", std::move(meaning)});
  };
  add("beta", number_text(curvature.beta), "the largest of them");
  add("mu", number_text(curvature.mu), "strong convexity of F");
  add("eta beta", number_text(diagnosis.run.step.eta * curvature.beta), "step size in units of 1/beta");
  add("F*", fmt::format("{:.10g}", optimum.loss), "least possible loss");
  add("|grad F(w*)|", fmt::format("{:.2g}", optimum.gradient_norm),
      fmt::format("how well w* is known ({} Newton steps)", optimum.newton_steps));
  if (diagnosis.run.constants)
    add_node_range(table, "delta_i", diagnosis.run.constants->node_delta,
                   "how far each node's gradient is from the whole's");
  add_pair(table, "delta", diagnosis, &PathConstants::delta,
           "their weighted mean, largest over the intervals");
  add_pair(table, "rho", diagnosis, &PathConstants::rho, "largest |grad F| at an aggregated w");
  add_pair(table, "omega", diagnosis, &PathConstants::omega, "1 / largest squared distance to w*");
  add_pair(table, "cos theta", diagnosis, &PathConstants::cos_theta,
           "worst angle between gradient and momentum");
  add_pair(table, "p", diagnosis, &PathConstants::momentum_ratio, "largest |d| / |grad F|");
  add_pair(table, "alpha", diagnosis, &PathConstants::alpha,
           "guaranteed descent per step, from the worst angle");
  add_pair(table, "least alpha_t", diagnosis, &PathConstants::least_step_alpha, "the same, step by step");
  add_pair(table, "h(tau)", diagnosis, &PathConstants::h_tau, "bound on the drift of one interval");
  return table;
}

std::string conditions_text(const Diagnosis& diagnosis) {
  std::string out =
      "Conditions; [k] is the virtual run that starts from every average and descends on all data\n";
  for (const Condition& condition : diagnosis.conditions)
    out += fmt::format("{:<14}  {}\n{:16}{}\n", verdict_name(condition.verdict), condition.statement, "",
                       condition.why);
  return out + '\n';
}

TheoryTable drift_table(const Diagnosis& diagnosis) {
  TheoryTable table{"Proposition 1: the drift of an interval stays below its bound",
                    {{"gap", Align::kLeft},
                     {"compared", Align::kRight},
                     {"above the bound", Align::kRight},
                     {"gap/bound, median", Align::kRight},
                     {"largest", Align::kRight}},
                    {}};
  if (!diagnosis.run.drift) return table;
  const auto add = [&](const char* name, const GapComparison& gap) {
    table.rows.push_back({name, fmt::format("{}", gap.compared), fmt::format("{}", gap.violations),
                          number_text(gap.median_ratio), number_text(gap.largest_ratio)});
  };
  const DriftReport& drift = *diagnosis.run.drift;
  add("mean of the nodes' w from the virtual w", drift.w);
  add("mean of the nodes' d from the virtual d", drift.d);
  add("each node's w from the virtual w", drift.node_w);
  add("each node's d from the virtual d", drift.node_d);
  return table;
}

TheoryTable convergence_table(const Diagnosis& diagnosis) {
  TheoryTable table{"Proposition 2: how far the best model is from the optimum",
                    {{"F(w^f) - F*", Align::kLeft},
                     {diagnosis.run.algorithm, Align::kRight},
                     {diagnosis.fl ? diagnosis.fl->algorithm : "", Align::kRight}},
                    {}};
  if (!diagnosis.run.convergence) return table;
  const auto add = [&](const char* name, const auto& get) {
    const bool paired = diagnosis.fl && diagnosis.fl->convergence;
    table.rows.push_back(
        {name, get(*diagnosis.run.convergence), paired ? get(*diagnosis.fl->convergence) : ""});
  };
  add("at the start, F(w(0)) - F*",
      [](const ConvergenceReport& report) { return number_text(report.start_gap); });
  add("measured", [](const ConvergenceReport& report) { return number_text(report.gap); });
  add("at most, by Proposition 2",
      [](const ConvergenceReport& report) { return optional_text(report.bound); });
  add("at most, a posteriori",
      [](const ConvergenceReport& report) { return optional_text(report.a_posteriori); });
  return table;
}

std::string crossing_text(const AccelerationReport& report, const Diagnosis& diagnosis) {
  const std::string &run = diagnosis.run.algorithm, &fl = diagnosis.fl->algorithm;
  const Crossing& crossing = report.crossing;
  if (crossing.steps)
    return fmt::format("{}'s bound is the lower one {} T_1 = {} steps", run,
                       crossing.first_lower_at_start ? "up to" : "from", number_text(*crossing.steps));
  return fmt::format("{}'s bound is the lower one for every T", crossing.first_lower_at_start ? run : fl);
}

std::string speed_text(const AccelerationReport& report, const Diagnosis& diagnosis) {
  const std::string &run = diagnosis.run.algorithm, &fl = diagnosis.fl->algorithm;
  if (!report.fl_step) return fmt::format("{} reached no loss to compare with", fl);
  const std::string target =
      fmt::format("{} has its best loss, {:.8g}, at step {}", fl, report.reached_loss, *report.fl_step);
  if (!report.speed_up) return fmt::format("{}; {} did not reach it", target, run);
  return fmt::format("{}; {} is as low at step {}: {:.3g} times as fast", target, run, *report.mfl_step,
                     *report.speed_up);
}

TheoryTable acceleration_table(const Diagnosis& diagnosis) {
  const AccelerationReport& report = *diagnosis.acceleration;
  TheoryTable table{"Proposition 3: momentum against none", {{""}, {""}}, {}};
  if (report.verdict == Judgement::kNotApplicable) {
    table.rows.push_back({"limit on gamma", "not applicable"});
  } else {
    table.rows.push_back(
        {"limit on gamma", fmt::format("{}: {} (gamma is {})", number_text(report.gamma_limit),
                                       verdict_name(report.verdict), diagnosis.run.step.gamma)});
    if (diagnosis.run.constants->alpha > 0)
      table.rows.push_back({"bounds", crossing_text(report, diagnosis)});
  }
  table.rows.push_back({"measured", speed_text(report, diagnosis)});
  return table;
}

std::string table_text(const TheoryTable& part) {
  const std::string title = part.title.empty() ? "" : part.title + "\n";
  if (part.rows.empty()) return title + "not applicable\n\n";
  const bool headed =
      std::ranges::any_of(part.columns, [](const Column& column) { return !column.title.empty(); });
  Table table(part.columns);
  for (const auto& row : part.rows) table.add(row);
  std::string text = table.text();
  if (!headed) text.erase(0, text.find('\n', text.find('-')) + 1);  // an empty header and its rule
  return title + text + (headed ? "\n" : "");
}

template <class T>
Json number_or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json gap_json(const GapComparison& gap) {
  return {{"compared", gap.compared},
          {"violations", gap.violations},
          {"median_ratio", gap.median_ratio},
          {"largest_ratio", gap.largest_ratio}};
}

Json constants_json(const PathConstants& c) {
  return {{"delta", c.delta},
          {"delta_i", c.node_delta},
          {"rho", c.rho},
          {"omega", c.omega},
          {"cos_theta", c.cos_theta},
          {"p", c.momentum_ratio},
          {"alpha", c.alpha},
          {"least_alpha_t", c.least_step_alpha},
          {"h_tau", c.h_tau},
          {"descents", c.descents},
          {"descent_violations", c.ascents},
          {"distance_violations", c.growing_distances},
          {"short_momenta", c.short_momenta}};
}

Json drift_json(const DriftReport& drift) {
  return {{"violations", drift.violations()},
          {"w", gap_json(drift.w)},
          {"d", gap_json(drift.d)},
          {"node_w", gap_json(drift.node_w)},
          {"node_d", gap_json(drift.node_d)}};
}

Json intervals_json(const Path& path) {
  Json out = Json::array();
  for (const Interval& interval : path.intervals)
    out.push_back({{"first", interval.first},
                   {"steps", interval.steps},
                   {"delta", interval.delta},
                   {"delta_i", interval.node_delta},
                   {"loss", interval.loss},
                   {"gradient", interval.gradient},
                   {"start_distance", interval.start_distance}});
  return out;
}

Json steps_json(const RunDiagnosis& run) {
  Json out = Json::array();
  for (std::size_t s = 0; s < run.path.gaps.size(); ++s) {
    const GapStep& gap = run.path.gaps[s];
    const VirtualStep& at = run.path.virtual_steps[s];
    Json row = {{"t", gap.t},     {"into", gap.into},         {"w_gap", gap.w},
                {"d_gap", gap.d}, {"node_w_gap", gap.node_w}, {"node_d_gap", gap.node_d}};
    if (run.drift) {
      row["w_bound"] = run.drift->w_bound[s];
      row["d_bound"] = run.drift->d_bound[s];
      row["node_w_bound"] = run.drift->node_w_bound[s];
      row["node_d_bound"] = run.drift->node_d_bound[s];
    }
    row["virtual"] = {{"loss", at.loss},         {"loss_after", at.loss_after}, {"gradient", at.gradient},
                      {"momentum", at.momentum}, {"product", at.product},       {"distance", at.distance}};
    out.push_back(std::move(row));
  }
  return out;
}

Json diagnosis_run_json(const RunDiagnosis& run) {
  Json out = {{"algorithm", run.algorithm},
              {"eta", run.step.eta},
              {"gamma", run.step.gamma},
              {"start_loss", run.path.start_loss},
              {"best", {{"step", run.path.best_step}, {"loss", run.path.best_loss}}},
              {"diverged_after", number_or_null(run.path.diverged_after)}};
  out["constants"] = run.constants ? constants_json(*run.constants) : Json(nullptr);
  out["proposition_1"] = run.drift ? drift_json(*run.drift) : Json(nullptr);
  out["proposition_2"] = nullptr;
  if (run.convergence)
    out["proposition_2"] = {{"start_gap", run.convergence->start_gap},
                            {"gap", run.convergence->gap},
                            {"bound", number_or_null(run.convergence->bound)},
                            {"a_posteriori", number_or_null(run.convergence->a_posteriori)}};
  out["intervals"] = intervals_json(run.path);
  out["steps"] = steps_json(run);
  return out;
}

Json acceleration_json(const AccelerationReport& report) {
  const bool judged = report.verdict != Judgement::kNotApplicable;
  return {{"gamma_limit", judged ? Json(report.gamma_limit) : Json(nullptr)},
          {"verdict", verdict_name(report.verdict)},
          {"t_1", number_or_null(report.crossing.steps)},
          {"lower_at_start", judged ? Json(report.crossing.first_lower_at_start) : Json(nullptr)},
          {"lower_at_end", judged ? Json(report.crossing.first_lower_at_end) : Json(nullptr)},
          {"reached_loss", report.reached_loss},
          {"fl_step", number_or_null(report.fl_step)},
          {"mfl_step", number_or_null(report.mfl_step)},
          {"speed_up", number_or_null(report.speed_up)}};
}

}  // namespace

std::vector<TheoryTable> theory_tables(const Diagnosis& diagnosis) {
  std::vector<TheoryTable> out;
  if (diagnosis.curvature) out.push_back(constants_table(diagnosis));
  out.push_back(drift_table(diagnosis));
  out.push_back(convergence_table(diagnosis));
  if (diagnosis.acceleration) out.push_back(acceleration_table(diagnosis));
  return out;
}

std::string theory_text(const Diagnosis& diagnosis) {
  std::string constants, propositions;
  for (const TheoryTable& table : theory_tables(diagnosis))
    (table.title.empty() ? constants : propositions) += table_text(table);
  return constants + conditions_text(diagnosis) + propositions;
}

Json theory_json(const Diagnosis& diagnosis) {
  Json out = {{"nodes", diagnosis.nodes}, {"tau", diagnosis.tau}, {"steps", diagnosis.steps}};
  out["curvature"] = nullptr;
  if (diagnosis.curvature)
    out["curvature"] = {{"beta", diagnosis.curvature->beta},
                        {"beta_i", diagnosis.curvature->node_beta},
                        {"mu", diagnosis.curvature->mu}};
  out["optimum"] = nullptr;
  if (diagnosis.optimum)
    out["optimum"] = {{"loss", diagnosis.optimum->loss},
                      {"gradient_norm", diagnosis.optimum->gradient_norm},
                      {"newton_steps", diagnosis.optimum->newton_steps},
                      {"converged", diagnosis.optimum->converged},
                      {"w", Json::list(diagnosis.optimum->w)}};
  out["conditions"] = Json::array();
  for (const Condition& condition : diagnosis.conditions)
    out["conditions"].push_back({{"id", condition.id},
                                 {"statement", condition.statement},
                                 {"verdict", verdict_name(condition.verdict)},
                                 {"why", condition.why}});
  out["run"] = diagnosis_run_json(diagnosis.run);
  out["fl"] = diagnosis.fl ? diagnosis_run_json(*diagnosis.fl) : Json(nullptr);
  out["proposition_3"] = diagnosis.acceleration ? acceleration_json(*diagnosis.acceleration) : Json(nullptr);
  return out;
}

}  // namespace mfl
