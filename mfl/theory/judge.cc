#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "mfl/theory/diagnosis.h"

namespace mfl {
namespace {

// Collects conditions; each is said in one sentence whichever way it goes.
class Conditions {
 public:
  explicit Conditions(std::vector<Condition>& to) : to_(to) {}

  bool check(std::string id, std::string statement, bool holds, std::string why) {
    to_.push_back(
        {std::move(id), std::move(statement), holds ? Judgement::kPass : Judgement::kFail, std::move(why)});
    return holds;
  }
  void not_applicable(std::string id, std::string statement, std::string why) {
    to_.push_back({std::move(id), std::move(statement), Judgement::kNotApplicable, std::move(why)});
  }

 private:
  std::vector<Condition>& to_;
};

std::string convexity_sentence(Loss loss, double mu) {
  if (mu > 0) return fmt::format("mu = {:.6g}.", mu);
  return fmt::format(
      "mu = 0: {}; a lambda above 0 would change that.",
      loss == Loss::kLogistic
          ? "the logistic loss gets ever flatter for large margins"
          : "in some direction of w nothing changes, as when a feature is zero in all samples");
}

void judge_smoothness(const Diagnosis& diagnosis, Conditions& conditions) {
  conditions.check("convex", "every F_i is convex", true,
                   fmt::format("The loss of {} is convex in w.", diagnosis.model));
  conditions.check(
      "smooth", "every F_i has a Lipschitz gradient", diagnosis.curvature.has_value(),
      diagnosis.curvature
          ? fmt::format("The gradient changes by at most beta = {:.6g} per unit of w.",
                        diagnosis.curvature->beta)
          : "The hinge has a kink at margin 1, where its gradient jumps; squared-svm is its smooth form.");
  if (!diagnosis.curvature) return;
  const double mu = diagnosis.curvature->mu;
  conditions.check("strongly_convex", "F is strongly convex", mu > 0, convexity_sentence(diagnosis.loss, mu));
  const Optimum& optimum = *diagnosis.optimum;
  conditions.check("optimum", "w* is known", optimum.converged,
                   fmt::format("The gradient at the w* found has the norm {:.2g}{}.", optimum.gradient_norm,
                               optimum.converged ? "" : ", which is not 1e-10: F* is only approximate"));
  if (!diagnosis.run.constants) return;
  conditions.check(
      "lipschitz", "F is Lipschitz on the path", true,
      fmt::format("rho = {:.6g} is the largest gradient norm at an aggregated w; a strongly convex F "
                  "has no such constant over all w.",
                  diagnosis.run.constants->rho));
}

void judge_finiteness(const RunDiagnosis& run, Conditions& conditions) {
  const auto& diverged = run.path.diverged_after;
  conditions.check(
      "finite", "the run stays finite", !diverged,
      diverged ? fmt::format("It does not after step {}; what follows is of the steps before.", *diverged)
               : "Every loss and every weight is a finite number.");
}

// The step size and the momentum; true where Proposition 2 allows them.
bool judge_parameters(const StepParameters& step, Conditions& conditions) {
  const double eta_beta = step.eta * step.beta;
  const double stable = 2 * (1 + step.gamma) / step.beta;
  conditions.check(
      "stable", "eta < 2 (1 + gamma) / beta", step.eta < stable,
      fmt::format("eta = {:.6g}, and from {:.6g} on momentum descent on a quadratic may diverge.", step.eta,
                  stable));
  const bool small = conditions.check("eta_beta", "0 < eta beta < 1", eta_beta > 0 && eta_beta < 1,
                                      fmt::format("eta beta = {:.6g}.", eta_beta));
  return conditions.check("gamma", "0 <= gamma < 1", step.gamma >= 0 && step.gamma < 1,
                          fmt::format("gamma = {:.6g}.", step.gamma)) &&
         small;
}

// What the proof of Proposition 2 needs of the path.
bool judge_path(const RunDiagnosis& run, Conditions& conditions) {
  const PathConstants& c = *run.constants;
  bool holds = true;
  if (run.step.gamma == 0) {
    const std::string why = "Without momentum no angle matters.";
    conditions.not_applicable("angle", "cos theta >= 0", why);
    conditions.not_applicable("long_momentum", "|d| >= |grad F| on the virtual path", why);
  } else {
    holds &= conditions.check(
        "angle", "cos theta >= 0", c.cos_theta >= 0,
        fmt::format("The smallest cosine between gradient and momentum on the virtual path is {:.4g}.",
                    c.cos_theta));
    holds &= conditions.check("long_momentum", "|d| >= |grad F| on the virtual path", c.short_momenta == 0,
                              fmt::format("The proof assumes it; it fails at {} of {} steps.",
                                          c.short_momenta, run.path.virtual_steps.size()));
  }
  holds &= conditions.check(
      "alpha", "alpha > 0", c.alpha > 0,
      fmt::format("alpha = {:.4g}, from the worst angle and the largest |d|/|grad F| = {:.4g} "
                  "of the whole path.",
                  c.alpha, c.momentum_ratio));
  holds &= conditions.check("distance", "|w_[k](t) - w*| is largest at the start of its interval",
                            c.growing_distances == 0,
                            fmt::format("The proof assumes it; it fails at {} of {} steps.",
                                        c.growing_distances, run.path.virtual_steps.size()));
  return holds;
}

bool judge_steps(const RunDiagnosis& run, Conditions& conditions) {
  const PathConstants& c = *run.constants;
  const std::size_t steps = run.path.virtual_steps.size();
  conditions.check(
      "descent", "F falls by alpha_t |grad F|^2 at every virtual step", c.ascents == 0,
      fmt::format("It does at {} of {} steps, the first with its own alpha_0 = eta (1 - beta eta / 2).",
                  c.descents, steps));
  return conditions.check(
      "step_alpha", "every alpha_t > 0", c.least_step_alpha > 0,
      fmt::format("The smallest alpha_t is {:.4g}; the a-posteriori bound needs this and no angle.",
                  c.least_step_alpha));
}

void judge_drift(const RunDiagnosis& run, Conditions& conditions) {
  const DriftReport& drift = *run.drift;
  const std::uint64_t compared =
      drift.w.compared + drift.d.compared + drift.node_w.compared + drift.node_d.compared;
  conditions.check(
      "drift", "Proposition 1: no gap is above its bound", drift.violations() == 0,
      fmt::format("{} of {} gaps (w, d and every node's) are above.", drift.violations(), compared));
}

void measure(RunDiagnosis& run, const Diagnosis& diagnosis) {
  if (!diagnosis.curvature || run.path.intervals.empty()) return;
  run.step.beta = diagnosis.curvature->beta;
  run.constants = path_constants(run.path, run.step);
  run.drift = compare_drift(run.path, run.step);
}

ConvergenceReport convergence(const RunDiagnosis& run, const Diagnosis& diagnosis, bool proven,
                              bool by_steps) {
  ConvergenceReport out;
  out.start_gap = run.path.start_loss - diagnosis.optimum->loss;
  out.gap = run.path.best_loss - diagnosis.optimum->loss;
  const auto steps = static_cast<double>(run.path.gaps.size());
  if (proven) out.bound = convergence_bound(steps, bound_constants(run));
  if (by_steps) out.a_posteriori = a_posteriori_bound(run.constants->sums);
  return out;
}

std::optional<std::uint64_t> first_as_low(const Path& path, double loss) {
  for (const Interval& interval : path.intervals)
    if (interval.loss <= loss) return interval.first + interval.steps;
  return std::nullopt;
}

void measure_speed_up(const RunDiagnosis& run, const RunDiagnosis& fl, AccelerationReport& out) {
  if (run.path.intervals.empty() || fl.path.intervals.empty()) return;
  out.reached_loss = fl.path.best_loss;
  out.fl_step = first_as_low(fl.path, out.reached_loss);
  out.mfl_step = first_as_low(run.path, out.reached_loss);
  if (out.fl_step && out.mfl_step)
    out.speed_up = static_cast<double>(*out.fl_step) / static_cast<double>(*out.mfl_step);
}

AccelerationReport acceleration(const Diagnosis& diagnosis, Conditions& conditions) {
  AccelerationReport out;
  const RunDiagnosis& run = diagnosis.run;
  const RunDiagnosis& fl = *diagnosis.fl;
  measure_speed_up(run, fl, out);
  if (!run.constants || !fl.constants) return out;
  out.gamma_limit = gamma_limit(run.step, run.constants->cos_theta, run.constants->momentum_ratio);
  const bool holds = run.step.gamma > 0 && run.step.gamma < out.gamma_limit;
  out.verdict = holds ? Judgement::kPass : Judgement::kFail;
  conditions.check(
      "acceleration", "Proposition 3: 0 < gamma < 2 (1 - beta eta) cos theta / (beta eta p^2)", holds,
      fmt::format("The limit is {:.4g}; the condition is sufficient for alpha > alpha_FL, not necessary "
                  "for a faster run.",
                  out.gamma_limit));
  if (run.constants->alpha > 0) out.crossing = cross(bound_constants(run), bound_constants(fl));
  return out;
}

void leave_out_what_needs_smoothness(Conditions& conditions) {
  for (const auto& [id, statement] : {std::pair("eta_beta", "0 < eta beta < 1"),
                                      std::pair("drift", "Proposition 1: no gap is above its bound"),
                                      std::pair("alpha", "Proposition 2: alpha > 0"),
                                      std::pair("acceleration", "Proposition 3: the limit on gamma")})
    conditions.not_applicable(id, statement, "It needs a smooth loss.");
}

void judge_run(RunDiagnosis& run, const Diagnosis& diagnosis, Conditions& conditions) {
  run.step.beta = diagnosis.curvature->beta;
  const bool parameters = judge_parameters(run.step, conditions);
  if (!run.constants) return;
  const bool path = judge_path(run, conditions);
  const bool steps = judge_steps(run, conditions);
  judge_drift(run, conditions);
  run.convergence = convergence(run, diagnosis, parameters && path, steps);
}

}  // namespace

void judge(Diagnosis& diagnosis) {
  Conditions conditions(diagnosis.conditions);
  RunDiagnosis& run = diagnosis.run;
  measure(run, diagnosis);
  if (diagnosis.fl) measure(*diagnosis.fl, diagnosis);
  judge_smoothness(diagnosis, conditions);
  judge_finiteness(run, conditions);
  if (!diagnosis.curvature) {
    leave_out_what_needs_smoothness(conditions);
  } else {
    judge_run(run, diagnosis, conditions);
  }
  if (!diagnosis.fl) return;
  // The report is about the run; FL's conditions only decide whether it has a bound.
  std::vector<Condition> of_fl;
  Conditions fl_conditions(of_fl);
  if (diagnosis.curvature) judge_run(*diagnosis.fl, diagnosis, fl_conditions);
  diagnosis.acceleration = acceleration(diagnosis, conditions);
}

}  // namespace mfl
