#include "mfl/theory/diagnosis.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "mfl/theory/drift.h"

namespace mfl {
namespace {

constexpr double kRounding = 1e-12;  // rounding error of a gap, relative to the two vectors that it separates

class GapCounter {
 public:
  void add(double gap, double bound, double size) {
    ++out_.compared;
    if (gap > bound * (1 + 1e-9) + kRounding * size) ++out_.violations;
    if (bound > kRounding * size) ratios_.push_back(gap / bound);
  }
  GapComparison finish() {
    if (ratios_.empty()) return out_;
    const auto middle = ratios_.begin() + static_cast<std::ptrdiff_t>(ratios_.size() / 2);
    std::nth_element(ratios_.begin(), middle, ratios_.end());
    out_.median_ratio = *middle;
    out_.largest_ratio = *std::ranges::max_element(ratios_);
    return out_;
  }

 private:
  GapComparison out_;
  std::vector<double> ratios_;
};

std::uint64_t longest_interval(const Path& path) {
  std::uint64_t longest = 0;
  for (const Interval& interval : path.intervals) longest = std::max(longest, interval.steps);
  return longest;
}

// F(w_[k](t+1)) <= F(w_[k](t)) - alpha_t |grad F|^2, up to rounding.
bool descends(const VirtualStep& step, double alpha) {
  return step.loss_after <=
         step.loss - alpha * step.gradient * step.gradient + kRounding * (std::abs(step.loss) + 1e-300);
}

void add_interval(PathConstants& out, const Interval& interval) {
  out.delta = std::max(out.delta, interval.delta);
  out.node_delta.resize(interval.node_delta.size());
  for (std::size_t i = 0; i < interval.node_delta.size(); ++i)
    out.node_delta[i] = std::max(out.node_delta[i], interval.node_delta[i]);
  out.rho = std::max(out.rho, interval.gradient);
  out.largest_distance = std::max(out.largest_distance, interval.start_distance);
}

double step_alpha(const VirtualStep& at, const StepParameters& step) {
  const double squared = at.gradient * at.gradient;
  if (squared == 0) return descent_factor(step, 0, 0);
  return descent_factor(step, at.product / squared, at.momentum / at.gradient);
}

void add_virtual_step(PathConstants& out, const VirtualStep& at, const StepParameters& step,
                      double start_distance) {
  const double squared = at.gradient * at.gradient;
  const double ratio = squared > 0 ? at.momentum / at.gradient : 0;
  const double alpha = step_alpha(at, step);
  out.least_step_alpha = std::min(out.least_step_alpha, alpha);
  ++(descends(at, alpha) ? out.descents : out.ascents);
  if (at.distance > 0) out.sums.descent += alpha / (at.distance * at.distance);
  if (at.distance > start_distance * (1 + kRounding)) ++out.growing_distances;
  if (at.momentum == 0) return;  // t = 0: no angle
  out.momentum_ratio = std::max(out.momentum_ratio, ratio);
  if (squared > 0) out.cos_theta = std::min(out.cos_theta, at.product / (at.gradient * at.momentum));
  if (ratio < 1) ++out.short_momenta;
}

}  // namespace

std::string_view verdict_name(Judgement verdict) {
  switch (verdict) {
    case Judgement::kPass: return "PASS";
    case Judgement::kFail: return "FAIL";
    case Judgement::kNotApplicable: return "not applicable";
  }
  return "?";
}

DriftReport compare_drift(const Path& path, const StepParameters& step) {
  const std::vector<UnitDrift> table = drift_table({step.eta, step.beta, step.gamma}, longest_interval(path));
  GapCounter w, d, node_w, node_d;
  DriftReport out;
  auto interval = path.intervals.begin();
  for (const GapStep& gaps : path.gaps) {
    if (gaps.t > interval->first + interval->steps) ++interval;
    const UnitDrift& unit = table[gaps.into];
    out.w_bound.push_back(unit.w.times(interval->delta));
    out.d_bound.push_back(unit.d.times(interval->delta));
    w.add(gaps.w, out.w_bound.back(), gaps.w_size);
    d.add(gaps.d, out.d_bound.back(), gaps.d_size);
    std::vector<double>& node_w_bound = out.node_w_bound.emplace_back();
    std::vector<double>& node_d_bound = out.node_d_bound.emplace_back();
    for (std::size_t i = 0; i < gaps.node_w.size(); ++i) {
      node_w_bound.push_back(unit.node_w.times(interval->node_delta[i]));
      node_d_bound.push_back(unit.node_d.times(interval->node_delta[i]));
      node_w.add(gaps.node_w[i], node_w_bound.back(), gaps.w_size);
      node_d.add(gaps.node_d[i], node_d_bound.back(), gaps.d_size);
    }
  }
  out.w = w.finish();
  out.d = d.finish();
  out.node_w = node_w.finish();
  out.node_d = node_d.finish();
  return out;
}

PathConstants path_constants(const Path& path, const StepParameters& step) {
  PathConstants out;
  out.least_step_alpha = std::numeric_limits<double>::infinity();
  const std::vector<UnitDrift> table = drift_table({step.eta, step.beta, step.gamma}, longest_interval(path));
  for (const Interval& interval : path.intervals) {
    add_interval(out, interval);
    const double drift = interval.gradient * table[interval.steps].w.times(interval.delta);
    out.sums.drift += drift;
    out.sums.largest_drift = std::max(out.sums.largest_drift, drift);
  }
  auto interval = path.intervals.begin();
  for (const VirtualStep& at : path.virtual_steps) {
    if (at.t >= interval->first + interval->steps) ++interval;
    add_virtual_step(out, at, step, interval->start_distance);
  }
  if (out.largest_distance > 0) out.omega = 1 / (out.largest_distance * out.largest_distance);
  out.alpha = descent_factor(step, out.cos_theta, out.momentum_ratio);
  out.h_tau = table.back().w.times(out.delta);
  return out;
}

BoundConstants bound_constants(const RunDiagnosis& run) {
  const PathConstants& c = *run.constants;
  return {c.omega, c.alpha, c.rho, c.h_tau, static_cast<double>(longest_interval(run.path))};
}

std::vector<CurvePoint> convergence_curve(const RunDiagnosis& run, double least_loss) {
  const std::vector<UnitDrift> table =
      drift_table({run.step.eta, run.step.beta, run.step.gamma}, longest_interval(run.path));
  const BoundConstants constants = bound_constants(run);
  std::vector<CurvePoint> out;
  PathSums sums;
  double best = std::numeric_limits<double>::infinity();
  for (const Interval& interval : run.path.intervals) {
    for (std::uint64_t t = interval.first; t < interval.first + interval.steps; ++t) {
      const VirtualStep& at = run.path.virtual_steps[t];
      if (at.distance > 0) sums.descent += step_alpha(at, run.step) / (at.distance * at.distance);
    }
    const double drift = interval.gradient * table[interval.steps].w.times(interval.delta);
    sums.drift += drift;
    sums.largest_drift = std::max(sums.largest_drift, drift);
    best = std::min(best, interval.loss);
    const std::uint64_t steps = interval.first + interval.steps;
    out.push_back({steps, best - least_loss, convergence_bound(static_cast<double>(steps), constants),
                   a_posteriori_bound(sums)});
  }
  return out;
}

}  // namespace mfl
