#include "mfl/reproduce/figures.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

namespace mfl {
namespace {

struct Named {
  std::string_view name, title;
};

// MGD nearly coincides with MFL and GD with FL: the dashed line is drawn over the other, so that both are
// seen.
constexpr Named kAlgorithms[] = {{"mfl", "MFL"}, {"mgd", "MGD"}, {"fl", "FL"}, {"gd", "GD"}};
constexpr double kShownGammas[] = {0, 0.3, 0.5, 0.7, 0.9};

std::string algorithm_title(const Evidence& evidence, const Named& algorithm) {
  std::string title(algorithm.title);
  if (algorithm.name == "mfl" || algorithm.name == "mgd") title += fmt::format(" γ = {}", evidence.gamma);
  return title;
}

void add_losses(FigureSeries& series, const RunEvidence& run, std::uint64_t every) {
  series.diverged = series.diverged || run.diverged;
  for (const RoundEvidence& round : run.rounds)
    if (round.step % every == 0)
      series.points.push_back({run.seed, static_cast<double>(round.step), round.loss});
}

void add_accuracies(FigureSeries& series, const RunEvidence& run) {
  series.diverged = series.diverged || run.diverged;
  for (const AccuracyEvidence& at : run.accuracy)
    series.points.push_back({run.seed, static_cast<double>(at.step), 100 * at.accuracy});
}

enum class Measure { kLoss, kAccuracy };

FigureSeries curve(const Evidence& evidence, const RunQuery& query, std::string title, PlotStyle style,
                   Measure measure) {
  FigureSeries series{.title = std::move(title), .style = std::move(style), .points = {}};
  for (const RunEvidence* run : select(evidence, query)) {
    if (measure == Measure::kLoss)
      add_losses(series, *run, std::max<std::uint64_t>(evidence.tau, 1));
    else
      add_accuracies(series, *run);
  }
  return series;
}

PlotAxis axis_of(Measure measure) {
  return {measure == Measure::kLoss ? "training loss F(w)" : "test accuracy (%)"};
}

void add_if_any(std::vector<FigureData>& figures, FigureData figure) {
  std::erase_if(figure.series, [](const FigureSeries& series) { return series.points.empty(); });
  if (!figure.series.empty()) figures.push_back(std::move(figure));
}

struct Panel {
  std::string_view figure, model, title;
  Measure measure;
  bool in_paper;
};

std::string panel_name(const Panel& panel) {
  std::string name = fmt::format("fig{}", panel.figure);
  if (panel.in_paper) return name;
  if (panel.model == "squared-svm") name += "-squared-svm";
  return panel.measure == Measure::kAccuracy && panel.figure != "4b" && panel.figure != "5b"
             ? name + "-accuracy"
             : name;
}

std::string_view what(Measure measure) {
  return measure == Measure::kLoss ? "training loss" : "test accuracy";
}

FigureData figure_4(const Evidence& evidence, const Panel& panel) {
  FigureData figure{.figure = std::string(panel.figure),
                    .name = panel_name(panel),
                    .title = fmt::format("{}: {}, τ = {}", panel.title, what(panel.measure), evidence.tau),
                    .caption = fmt::format("{}: {} over local steps{}.", panel.title, what(panel.measure),
                                           panel.in_paper ? "; GD is ours" : ", not in the paper"),
                    .in_paper = panel.in_paper,
                    .x = {"local steps t"},
                    .y = axis_of(panel.measure),
                    .series = {}};
  for (const Named& algorithm : kAlgorithms)
    figure.series.push_back(curve(evidence, figure_4_query(evidence, panel.model, algorithm.name),
                                  algorithm_title(evidence, algorithm), algorithm_style(algorithm.name),
                                  panel.measure));
  return figure;
}

// The order of MFL and MGD, which curves over one another do not show.
FigureData figure_4_gap(const Evidence& evidence) {
  FigureData figure{
      .figure = "4",
      .name = "fig4-gap",
      .title = fmt::format("Loss of MFL above MGD, τ = {}", evidence.tau),
      .caption =
          "The distance from MFL to MGD, which the curves above do not show. A logarithm has no room for "
          "seeds at which MFL is not above: lines are means over those at which it is. Not in the paper.",
      .in_paper = false,
      .x = {"local steps t"},
      .y = {.label = "loss of MFL less loss of MGD", .log = true},
      .series = {}};
  constexpr Named kModels[] = {
      {"svm", "SVM"}, {"squared-svm", "Squared SVM"}, {"linear", "Linear"}, {"logistic", "Logistic"}};
  constexpr std::size_t kNoAlgorithm[] = {3, 4, 5, 7};  // styles that stand for no algorithm
  for (std::size_t i = 0; i < std::size(kModels); ++i) {
    FigureSeries series{
        .title = std::string(kModels[i].title), .style = palette_style(kNoAlgorithm[i]), .points = {}};
    for (const RunEvidence* mfl : select(evidence, figure_4_query(evidence, kModels[i].name, "mfl"))) {
      RunQuery query = figure_4_query(evidence, kModels[i].name, "mgd");
      query.seed = mfl->seed;
      for (const RunEvidence* mgd : select(evidence, query)) {
        std::map<std::uint64_t, double> losses;
        for (const RoundEvidence& round : mgd->rounds) losses[round.step] = round.loss;
        for (const RoundEvidence& round : mfl->rounds)
          if (const auto at = losses.find(round.step); at != losses.end() && round.loss > at->second)
            series.points.push_back({mfl->seed, static_cast<double>(round.step), round.loss - at->second});
      }
    }
    figure.series.push_back(std::move(series));
  }
  return figure;
}

void add_figure_4(const Evidence& evidence, std::vector<FigureData>& figures) {
  constexpr Panel kPanels[] = {{"4a", "svm", "SVM", Measure::kLoss, true},
                               {"4a", "squared-svm", "Squared SVM", Measure::kLoss, false},
                               {"4b", "svm", "SVM", Measure::kAccuracy, true},
                               {"4b", "squared-svm", "Squared SVM", Measure::kAccuracy, false},
                               {"4c", "linear", "Linear regression", Measure::kLoss, true},
                               {"4c", "linear", "Linear regression", Measure::kAccuracy, false},
                               {"4d", "logistic", "Logistic regression", Measure::kLoss, true},
                               {"4d", "logistic", "Logistic regression", Measure::kAccuracy, false}};
  for (const Panel& panel : kPanels) add_if_any(figures, figure_4(evidence, panel));
  add_if_any(figures, figure_4_gap(evidence));
}

// MFL at gamma 0.5 looks as it does everywhere; the others are shades of their own.
PlotStyle gamma_style(double gamma) {
  if (gamma == 0.5) return algorithm_style("mfl");
  if (gamma == 0) return {"#56B4E9", "(3,3)", 6};
  if (gamma < 0.5) return {"#E69F00", "(7,4)", 9};
  return gamma < 0.8 ? PlotStyle{"#CC79A7", "(14,4,3,4)", 11} : PlotStyle{"#000000", "", 13};
}

RunQuery figure_5_query(const Evidence& evidence, std::string_view model) {
  RunQuery query = figure_4_query(evidence, model, "mfl");
  query.gamma.reset();
  return query;
}

bool has_gamma_sweep(const Evidence& evidence, std::string_view model) {
  return gammas_of(evidence, figure_5_query(evidence, model)).size() > 1;
}

FigureData figure_5_curves(const Evidence& evidence, const Panel& panel) {
  FigureData figure{.figure = std::string(panel.figure),
                    .name = panel_name(panel),
                    .title = fmt::format("{}: {}, τ = {}", panel.title, what(panel.measure), evidence.tau),
                    .caption = fmt::format("{}: {} over local steps for several γ{}.", panel.title,
                                           what(panel.measure), panel.in_paper ? "" : ", not in the paper"),
                    .in_paper = panel.in_paper,
                    .x = {"local steps t"},
                    .y = axis_of(panel.measure),
                    .series = {}};
  figure.series.push_back(curve(evidence, figure_4_query(evidence, panel.model, "fl"), "FL",
                                algorithm_style("fl"), panel.measure));
  for (const double gamma : kShownGammas) {
    RunQuery query = figure_5_query(evidence, panel.model);
    query.gamma = gamma;
    figure.series.push_back(
        curve(evidence, query, fmt::format("MFL γ = {}", gamma), gamma_style(gamma), panel.measure));
  }
  return figure;
}

FigureData figure_5c(const Evidence& evidence, const Panel& panel) {
  FigureData figure{.figure = "5c",
                    .name = panel_name(panel),
                    .title = fmt::format("{}: training loss at T = {}", panel.title,
                                         tick_text(static_cast<double>(evidence.steps), 1)),
                    .caption = fmt::format("{}: training loss at the end over γ{}.", panel.title,
                                           panel.in_paper ? "" : ", not in the paper"),
                    .in_paper = panel.in_paper,
                    .x = {.label = "γ", .low = 0, .high = 1},
                    .y = axis_of(Measure::kLoss),
                    .series = {}};
  FigureSeries fl{.title = "FL", .style = algorithm_style("fl"), .points = {}};
  for (const RunEvidence* run : select(evidence, figure_4_query(evidence, panel.model, "fl"))) {
    fl.diverged = fl.diverged || run->diverged;
    for (const double gamma : {0.0, 1.0}) fl.points.push_back({run->seed, gamma, run->final_loss});
  }
  FigureSeries mfl{.title = "MFL",
                   .style = algorithm_style("mfl"),
                   .mark = PlotSeries::Mark::kLineAndPoints,
                   .points = {}};
  for (const RunEvidence* run : select(evidence, figure_5_query(evidence, panel.model)))
    mfl.points.push_back({run->seed, run->gamma, run->diverged ? std::nan("") : run->final_loss});
  figure.series = {std::move(fl), std::move(mfl)};
  return figure;
}

// What the scale of figure 5c hides: how far each gamma is from the best one.
FigureData figure_5c_excess(const Evidence& evidence) {
  FigureData figure{.figure = "5c",
                    .name = "fig5c-excess",
                    .title = "Loss above the best γ",
                    .caption =
                        "The same losses as distances from the least of their seed, both axes logarithmic, γ "
                        "growing to the left; not in the paper.",
                    .in_paper = false,
                    .x = {.label = "1 − γ", .log = true},
                    .y = {.label = "loss above the least", .log = true},
                    .series = {}};
  for (const Named& model : {Named{"svm", "MFL, SVM"}, Named{"squared-svm", "MFL, squared SVM"}}) {
    if (!has_gamma_sweep(evidence, model.name)) continue;
    std::map<std::uint64_t, double> least;
    const auto runs = select(evidence, figure_5_query(evidence, model.name));
    for (const RunEvidence* run : runs)
      if (!run->diverged) {
        const auto [place, added] = least.try_emplace(run->seed, run->final_loss);
        if (!added) place->second = std::min(place->second, run->final_loss);
      }
    FigureSeries series{.title = std::string(model.title),
                        .style = model.name == "svm" ? algorithm_style("mfl") : palette_style(4),
                        .mark = PlotSeries::Mark::kLineAndPoints,
                        .points = {}};
    for (const RunEvidence* run : runs)
      if (!run->diverged && run->final_loss > least[run->seed])
        series.points.push_back({run->seed, 1 - run->gamma, run->final_loss - least[run->seed]});
    figure.series.push_back(std::move(series));
  }
  return figure;
}

void add_figure_5(const Evidence& evidence, std::vector<FigureData>& figures) {
  for (const auto& [letter, measure] : {std::pair("5a", Measure::kLoss), std::pair("5b", Measure::kAccuracy)})
    for (const Named& model : {Named{"svm", "SVM"}, Named{"squared-svm", "Squared SVM"}})
      if (has_gamma_sweep(evidence, model.name))
        add_if_any(figures, figure_5_curves(evidence,
                                            {letter, model.name, model.title, measure, model.name == "svm"}));
  for (const Named& model : {Named{"svm", "SVM"}, Named{"squared-svm", "Squared SVM"}})
    if (has_gamma_sweep(evidence, model.name))
      add_if_any(figures,
                 figure_5c(evidence, {"5c", model.name, model.title, Measure::kLoss, model.name == "svm"}));
  add_if_any(figures, figure_5c_excess(evidence));
}

FigureSeries over_tau(const Evidence& evidence, std::string_view model, std::string_view algorithm,
                      std::uint64_t steps, PlotStyle style) {
  FigureSeries series{.title = fmt::format("{}, T = {}", algorithm == "fl" ? "FL" : "MFL",
                                           tick_text(static_cast<double>(steps), 1)),
                      .style = std::move(style),
                      .mark = PlotSeries::Mark::kLineAndPoints,
                      .points = {}};
  RunQuery query{model, algorithm};
  query.steps = steps;
  if (algorithm == "mfl") query.gamma = evidence.gamma;
  if (taus_of(evidence, query).size() < 2) return series;
  for (const RunEvidence* run : select(evidence, query))
    series.points.push_back(
        {run->seed, static_cast<double>(run->tau), run->diverged ? std::nan("") : run->final_loss});
  return series;
}

// Seeds have data of their own, so their losses differ by more than tau moves them.
FigureSeries above_smallest(FigureSeries series) {
  std::map<std::uint64_t, FigurePoint> smallest;
  for (const FigurePoint& point : series.points) {
    const auto [place, added] = smallest.try_emplace(point.seed, point);
    if (!added && point.x < place->second.x) place->second = point;
  }
  for (FigurePoint& point : series.points) point.y -= smallest[point.seed].y;
  return series;
}

void draw_figure_6(const Evidence& evidence, std::vector<FigureData>& figures) {
  const PlotStyle long_style{"#D55E00", "(7,4)", 9};
  const auto base = [&](const Named& model, std::string name, std::string title) {
    return FigureData{.figure = "6",
                      .name = std::move(name),
                      .title = std::move(title),
                      .caption = {},
                      .in_paper = model.name == "svm",
                      .x = {.label = "τ (local steps between aggregations)", .log = true},
                      .y = axis_of(Measure::kLoss),
                      .series = {},
                      .vertical_lines = {100}};
  };
  for (const Named& model : {Named{"svm", "SVM"}, Named{"squared-svm", "Squared SVM"}}) {
    const std::string suffix = model.name == "svm" ? "" : "-squared-svm";
    const std::string ours = model.name == "svm" ? "" : ", not in the paper";
    FigureData figure = base(model, "fig6" + suffix,
                             fmt::format("{}: training loss at T, γ = {}", model.title, evidence.gamma));
    figure.caption =
        fmt::format("{}: training loss at the end over τ{}; the thin line is at τ = 100.", model.title, ours);
    figure.series = {over_tau(evidence, model.name, "fl", evidence.steps, algorithm_style("fl")),
                     over_tau(evidence, model.name, "mfl", evidence.steps, algorithm_style("mfl"))};
    if (evidence.long_steps > 0)
      figure.series.push_back(over_tau(evidence, model.name, "mfl", evidence.long_steps, long_style));
    add_if_any(figures, std::move(figure));
    if (evidence.long_steps == 0) continue;
    FigureData closer =
        base(model, "fig6" + suffix + "-rise", fmt::format("{}: the rise with τ", model.title));
    closer.caption = fmt::format(
        "{}: the same losses as differences from the smallest τ of their seed, which the scale above hides. "
        "Not in the paper.",
        model.title);
    closer.in_paper = false;
    closer.y.label = "loss above that at the smallest τ";
    closer.series = {
        above_smallest(over_tau(evidence, model.name, "mfl", evidence.steps, algorithm_style("mfl"))),
        above_smallest(over_tau(evidence, model.name, "mfl", evidence.long_steps, long_style))};
    add_if_any(figures, std::move(closer));
  }
}

}  // namespace

std::vector<FigureData> figures_of(const Evidence& evidence) {
  std::vector<FigureData> figures;
  add_figure_4(evidence, figures);
  add_figure_5(evidence, figures);
  draw_figure_6(evidence, figures);
  std::erase_if(figures, [&](const FigureData& figure) { return !asked_for(evidence, figure.figure); });
  return figures;
}

Plot plot_of(const FigureData& figure) {
  Plot plot{.name = figure.name,
            .title = figure.title,
            .x = figure.x,
            .y = figure.y,
            .series = {},
            .vertical_lines = figure.vertical_lines};
  for (const FigureSeries& data : figure.series) {
    struct Sum {
      double sum = 0, low = 0, high = 0;
      std::size_t count = 0;
    };
    std::map<double, Sum> sums;
    std::size_t most = 0;
    for (const FigurePoint& point : data.points) {
      Sum& at = sums[point.x];
      at.low = at.count == 0 ? point.y : std::min(at.low, point.y);
      at.high = at.count == 0 ? point.y : std::max(at.high, point.y);
      at.sum += point.y;
      most = std::max(most, ++at.count);
    }
    PlotSeries series{.title = data.title,
                      .x = {},
                      .y = {},
                      .low = {},
                      .high = {},
                      .style = data.style,
                      .mark = data.mark,
                      .diverged = data.diverged};
    for (const auto& [x, at] : sums) {
      series.x.push_back(x);
      series.y.push_back(at.sum / static_cast<double>(at.count));
      if (most < 2) continue;
      series.low.push_back(at.low);
      series.high.push_back(at.high);
    }
    plot.series.push_back(std::move(series));
  }
  return plot;
}

std::string csv_of(const FigureData& figure) {
  std::string out = "series,seed,x,y\n";
  for (const FigureSeries& series : figure.series) {
    // Titles hold commas, no quotes.
    for (const FigurePoint& point : series.points)
      out += fmt::format("\"{}\",{},{:.17g},{:.17g}\n", series.title, point.seed, point.x, point.y);
  }
  return out;
}

}  // namespace mfl
