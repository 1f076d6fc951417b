// What the theory says about a run: constants, conditions and the three propositions, judged on a measured
// path.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mfl/theory/bounds.h"
#include "mfl/theory/curvature.h"
#include "mfl/theory/optimum.h"
#include "mfl/theory/path.h"

namespace mfl {

enum class Judgement { kPass, kFail, kNotApplicable };

// "PASS", "FAIL", "not applicable".
std::string_view verdict_name(Judgement verdict);

struct Condition {
  std::string id;         // for programs: "eta_beta"
  std::string statement;  // "0 < eta beta < 1"
  Judgement verdict = Judgement::kNotApplicable;
  std::string why;  // one sentence
};

// Measured gaps against their bounds. A ratio is gap / bound, over the steps where the bound is not zero; a
// violation is a gap above its bound by more than rounding.
struct GapComparison {
  std::uint64_t compared = 0, violations = 0;
  double median_ratio = 0, largest_ratio = 0;
};

// Proposition 1 for w and d, Lemma 3 for each node.
struct DriftReport {
  GapComparison w, d, node_w, node_d;
  // The bounds, one per step of the path: h for w; per node for the last two.
  std::vector<double> w_bound, d_bound;
  std::vector<std::vector<double>> node_w_bound, node_d_bound;
  std::uint64_t violations() const {
    return w.violations + d.violations + node_w.violations + node_d.violations;
  }
};

// Each interval against the deltas that the path holds for it.
DriftReport compare_drift(const Path& path, const StepParameters& step);

// A path seen as a whole.
struct PathConstants {
  double delta = 0;                // largest over the intervals
  std::vector<double> node_delta;  // likewise for each node
  double rho = 0;                  // largest |grad F(w(k tau))|
  double largest_distance = 0;     // largest distance from w((k-1) tau) to w*
  double omega = 0;                // 1 / its square
  // Cosine of the largest angle between grad F and d on the virtual path; t = 0 has none.
  double cos_theta = 1;
  double momentum_ratio = 0;            // p: largest |d| / |grad F|
  double alpha = 0;                     // descent_factor with these two
  double least_step_alpha = 0;          // smallest alpha_t
  double h_tau = 0;                     // h at the end of the longest interval, for delta
  std::uint64_t growing_distances = 0;  // steps at which |w_[k] - w*| is above its interval's start
  std::uint64_t short_momenta = 0;      // steps at which 0 < |d| < |grad F|
  std::uint64_t descents = 0,
                ascents = 0;  // steps that satisfy F(t+1) <= F(t) - alpha_t |grad F|^2, and that do not
  PathSums sums;
};

PathConstants path_constants(const Path& path, const StepParameters& step);

// Proposition 2: how far F(w^f) can be from F*.
struct ConvergenceReport {
  double start_gap = 0;                // F(w(0)) - F*
  double gap = 0;                      // measured F(w^f) - F*
  std::optional<double> bound;         // f(T); only where its conditions hold
  std::optional<double> a_posteriori;  // only where every alpha_t > 0
};

// Proposition 3: MFL against FL.
struct AccelerationReport {
  double gamma_limit = 0;
  Judgement verdict = Judgement::kNotApplicable;
  Crossing crossing;                               // T_1
  double reached_loss = 0;                         // F(w^f) of FL
  std::optional<std::uint64_t> fl_step, mfl_step;  // aggregated steps at which each first has a loss as low
  std::optional<double> speed_up;                  // fl_step / mfl_step
};

// One of the two runs.
struct RunDiagnosis {
  std::string algorithm;  // its name, for people
  StepParameters step;
  Path path;
  std::optional<PathConstants> constants;  // not for the hinge
  std::optional<DriftReport> drift;
  std::optional<ConvergenceReport> convergence;
};

struct Diagnosis {
  std::string model;  // its name, for sentences
  Loss loss = Loss::kHinge;
  std::uint64_t tau = 1, steps = 0, nodes = 1;
  std::optional<Curvature> curvature;  // not for the hinge
  std::optional<Optimum> optimum;
  RunDiagnosis run;                // as asked for
  std::optional<RunDiagnosis> fl;  // with gamma = 0; absent where `run` has it
  std::vector<Condition> conditions;
  std::optional<AccelerationReport> acceleration;
};

// The run must have constants.
BoundConstants bound_constants(const RunDiagnosis& run);

// After `steps` steps of a run.
struct CurvePoint {
  std::uint64_t steps = 0;
  double gap = 0;           // F(w^f) - F* so far
  double bound = 0;         // f(steps), with the constants of the whole run
  double a_posteriori = 0;  // from the path so far
};

// One point per interval. The run must have constants; its convergence report says whether the bounds apply.
std::vector<CurvePoint> convergence_curve(const RunDiagnosis& run, double least_loss);

// Fills what follows from the paths: constants, reports and conditions.
void judge(Diagnosis& diagnosis);

}  // namespace mfl
