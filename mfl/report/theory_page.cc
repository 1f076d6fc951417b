#include "mfl/report/theory_page.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "mfl/report/report.h"
#include "mfl/report/theory.h"

namespace mfl {
namespace {

PlotStyle bound_style(std::string_view algorithm) {
  PlotStyle style = algorithm_style(algorithm);
  style.dash = "(8,5)";
  return style;
}

// What a value is called, and how it and its bound are found at step s of a run.
struct TheoryCurve {
  const char* title;
  double (*at)(const RunDiagnosis& run, std::size_t s);
  double (*bound)(const RunDiagnosis& run, std::size_t s);
};

double largest(const std::vector<double>& values) { return *std::ranges::max_element(values); }

double w_bound(const RunDiagnosis& run, std::size_t s) { return run.drift->w_bound[s]; }
double w_gap(const RunDiagnosis& run, std::size_t s) { return run.path.gaps[s].w; }
double node_bound(const RunDiagnosis& run, std::size_t s) { return largest(run.drift->node_w_bound[s]); }
double node_gap(const RunDiagnosis& run, std::size_t s) { return largest(run.path.gaps[s].node_w); }

constexpr TheoryCurve kDriftCurves[] = {
    {"bound h on the gap of w", w_bound, w_bound},
    {"gap |w − w₍ₖ₎|", w_gap, w_bound},
    {"largest bound on a node", node_bound, node_bound},
    {"largest gap |wᵢ − w₍ₖ₎|", node_gap, node_bound},
};

Plot drift_plot(const RunDiagnosis& run, std::string name, std::string title,
                const std::vector<std::size_t>& steps, PlotSeries::Mark mark) {
  Plot plot{std::move(name), std::move(title), {"local steps t"}, {"distance", true}, {}};
  std::size_t style = 0;
  for (const TheoryCurve& curve : kDriftCurves) {
    PlotSeries series{curve.title, {}, {}, {}, {}, palette_style(style++), mark};
    for (const std::size_t s : steps) {
      const double value = curve.at(run, s);
      const bool new_interval = mark == PlotSeries::Mark::kLineAndPoints && run.path.gaps[s].into == 1;
      if (new_interval && !series.x.empty()) series.gaps.push_back(series.x.size());
      if (!(value > 0 && curve.bound(run, s) > 0)) continue;  // a gap beside a bound of 0 is rounding
      series.x.push_back(static_cast<double>(run.path.gaps[s].t));
      series.y.push_back(value);
    }
    if (!series.x.empty()) plot.series.push_back(std::move(series));
  }
  return plot;
}

// Steps of the first intervals, enough of them to see their shape.
std::vector<std::size_t> first_steps(const Path& path) {
  constexpr std::size_t kIntervals = 5, kSteps = 400;
  const std::size_t intervals = std::min(kIntervals, path.intervals.size());
  const Interval& last = path.intervals[intervals - 1];
  std::vector<std::size_t> out(std::min<std::size_t>(kSteps, last.first + last.steps));
  for (std::size_t s = 0; s < out.size(); ++s) out[s] = s;
  return out;
}

// The last step of every interval; at most about a thousand of them.
std::vector<std::size_t> last_steps(const Path& path) {
  constexpr std::size_t kMost = 1000;
  const std::size_t every = std::max<std::size_t>(1, path.intervals.size() / kMost);
  std::vector<std::size_t> out;
  for (std::size_t k = 0; k < path.intervals.size(); k += every)
    out.push_back(path.intervals[k].first + path.intervals[k].steps - 1);
  return out;
}

PlotSeries curve_series(std::string title, const std::vector<CurvePoint>& points, double CurvePoint::*member,
                        PlotStyle style) {
  PlotSeries series{std::move(title), {}, {}, {}, {}, std::move(style), PlotSeries::Mark::kLine};
  for (const CurvePoint& point : points) {
    if (!std::isfinite(point.*member) || !(point.*member > 0)) continue;
    series.x.push_back(static_cast<double>(point.steps));
    series.y.push_back(point.*member);
  }
  return series;
}

void add_convergence(Plot& plot, const RunDiagnosis& run, const Diagnosis& diagnosis) {
  if (!run.convergence) return;
  const std::vector<CurvePoint> points = convergence_curve(run, diagnosis.optimum->loss);
  const std::string& name = run.algorithm;
  PlotStyle posterior = bound_style(name);
  posterior.dash = "(2,4)";
  plot.series.push_back(curve_series(name + ": F(wᶠ) − F*", points, &CurvePoint::gap, algorithm_style(name)));
  if (run.convergence->bound)
    plot.series.push_back(
        curve_series(name + ": bound of Proposition 2", points, &CurvePoint::bound, bound_style(name)));
  if (run.convergence->a_posteriori)
    plot.series.push_back(
        curve_series(name + ": a-posteriori bound", points, &CurvePoint::a_posteriori, posterior));
  std::erase_if(plot.series, [](const PlotSeries& series) { return series.x.empty(); });
}

Tone tone(Judgement verdict) {
  switch (verdict) {
    case Judgement::kPass: return Tone::kGood;
    case Judgement::kFail: return Tone::kBad;
    case Judgement::kNotApplicable: return Tone::kNeutral;
  }
  return Tone::kNeutral;
}

PageTable conditions_table(const Diagnosis& diagnosis) {
  PageTable table{"", {{"verdict"}, {"condition"}, {"why"}}, {}, true};
  for (const Condition& condition : diagnosis.conditions)
    table.rows.push_back({{std::string(verdict_name(condition.verdict)), tone(condition.verdict)},
                          {condition.statement},
                          {condition.why}});
  return table;
}

std::string caption_of(const Plot& plot) {
  if (plot.name == "gaps-first")
    return "Drift and its bound, step by step in the first intervals. Each average sets both to 0, which a "
           "logarithmic axis does not show: the lines are interrupted there.";
  return plot.title + ".";
}

std::vector<PageBlock> number_blocks(const Diagnosis& diagnosis) {
  std::vector<PageBlock> out;
  for (const TheoryTable& part : theory_tables(diagnosis)) {
    if (part.rows.empty()) {
      out.emplace_back(PageParagraph{part.title + ": not applicable."});
      continue;
    }
    PageTable table{part.title, part.columns, {}, true};
    for (const auto& row : part.rows) {
      table.rows.emplace_back();
      for (const std::string& cell : row) table.rows.back().push_back({cell});
    }
    out.emplace_back(std::move(table));
  }
  return out;
}

Result<PageFigures> draw_all(const Diagnosis& diagnosis, ReportFolder& folder) {
  PageFigures out;
  for (const Plot& plot : theory_plots(diagnosis)) {
    MFL_TRY(Drawing drawing, draw(plot));
    MFL_CHECK(write_drawing(folder, plot.name, drawing));
    out.push_back({plot.name, caption_of(plot), std::move(drawing)});
  }
  return out;
}

}  // namespace

std::vector<Plot> theory_plots(const Diagnosis& diagnosis) {
  std::vector<Plot> out;
  const RunDiagnosis& run = diagnosis.run;
  if (run.drift) {
    out.push_back(drift_plot(run, "gaps-first", "Drift and its bound, step by step in the first intervals",
                             first_steps(run.path), PlotSeries::Mark::kLineAndPoints));
    out.push_back(drift_plot(run, "gaps", "Drift and its bound at the end of every interval",
                             last_steps(run.path), PlotSeries::Mark::kLine));
  }
  Plot convergence{"convergence",
                   "Distance to the least loss, and its bounds",
                   {"local steps T", true},
                   {"F(wᶠ) − F*", true},
                   {}};
  add_convergence(convergence, run, diagnosis);
  if (diagnosis.fl) add_convergence(convergence, *diagnosis.fl, diagnosis);
  out.push_back(std::move(convergence));
  std::erase_if(out, [](const Plot& plot) { return plot.series.empty(); });
  return out;
}

Result<void> publish_theory_page(ReportFolder& folder, const TheoryPage& page) {
  MFL_TRY(PageFigures figures, draw_all(page.diagnosis, folder));
  Page out{"The theory, measured",
           fmt::format("{}, f64. Constants, conditions and bounds of the convergence theory, measured while "
                       "the run trains.",
                       page.setting),
           {}};
  if (!figures.empty()) out.sections.push_back({"figures", "Figures", {std::move(figures)}});
  out.sections.push_back({"conditions", "Conditions", {conditions_table(page.diagnosis)}});
  out.sections.push_back({"numbers", "Numbers", number_blocks(page.diagnosis)});
  out.sections.push_back({"digest", "Digest of the final weights", {PageCode{page.digest}}});
  MFL_CHECK(folder.write("report.html", page_html(out)));
  return folder.publish();
}

}  // namespace mfl
