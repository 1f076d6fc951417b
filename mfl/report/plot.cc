#include "mfl/report/plot.h"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "mfl/report/plot_script.h"

namespace mfl {
namespace {

constexpr std::string_view kGreyLine = "#8a8a8a";
constexpr std::string_view kDiverged = " (diverged)";

// Pixels.
constexpr double kPlotRightMargin = 34, kPlotBottomMargin = 60, kTitleLeft = kPlotTitleLeft;
constexpr double kLabelMiddle = kPlotLabelMiddle, kLineHeight = kPlotLineHeight;
constexpr double kSampleWidth = 52, kEntryGap = 16, kBandHeight = 12;
constexpr std::size_t kUsualLegendRows = 2, kManySeries = 8;
// With more lines than these, dash and colour alone do not tell them apart.
constexpr std::size_t kMostUnmarked = 6, kMarksPerLine = 6;

bool finite_at(const PlotSeries& series, std::size_t i) {
  return std::isfinite(series.x[i]) && std::isfinite(series.y[i]);
}

// How many values are drawn: those before the first that is not finite.
std::size_t drawn_values(const PlotSeries& series) {
  std::size_t i = 0;
  while (i < series.x.size() && finite_at(series, i)) ++i;
  return i;
}

bool diverged(const PlotSeries& series) { return series.diverged || drawn_values(series) < series.x.size(); }

PlotRange y_range(const Plot& plot) {
  PlotRange steady, all;
  for (const PlotSeries& series : plot.series)
    for (std::size_t i = 0; i < drawn_values(series); ++i)
      for (PlotRange* range : {&all, diverged(series) ? &all : &steady}) {
        range->take(series.y[i], plot.y.log);
        if (!series.low.empty()) range->take(series.low[i], plot.y.log);
        if (!series.high.empty()) range->take(series.high[i], plot.y.log);
      }
  return padded(steady.empty() ? all : steady, plot.y, 0.05);
}

PlotRange x_range(const Plot& plot) {
  PlotRange range;
  for (const PlotSeries& series : plot.series)
    for (const double x : series.x) range.take(x, plot.x.log);
  return padded(range, plot.x, plot.x.log ? 0.03 : 0.0);
}

// Far outside the picture is far enough; gnuplot's pixels end somewhere.
double kept_near(double value, const PlotRange& range, bool log) {
  if (log)
    return std::clamp(value, range.low * (range.low / range.high), range.high * (range.high / range.low));
  const double width = range.high - range.low;
  return std::clamp(value, range.low - 10 * width, range.high + 10 * width);
}

std::string points_script(const PlotSeries& series, std::size_t number, const PlotRange& range, bool log) {
  std::string out = fmt::format("$series{} << END\n", number);
  const auto near = [&](double value) { return kept_near(value, range, log); };
  for (std::size_t i = 0; i < drawn_values(series); ++i)
    out +=
        fmt::format("{}{:.17g} {:.17g} {:.17g} {:.17g}\n", std::ranges::count(series.gaps, i) > 0 ? "\n" : "",
                    series.x[i], near(series.y[i]), near(series.low.empty() ? series.y[i] : series.low[i]),
                    near(series.high.empty() ? series.y[i] : series.high[i]));
  return out + "END\n";
}

// The legend is in rows above the picture, so that it never covers a curve.
struct LegendEntry {
  const PlotSeries* series = nullptr;
  std::string text;
  double left = 0, sample = 0;  // pixels: where it starts, and how wide its line is
  std::size_t row = 0;
};

std::vector<LegendEntry> legend_of(const Plot& plot) {
  std::vector<LegendEntry> legend;
  double left = kTitleLeft;
  std::size_t row = 0;
  const double sample = plot.series.size() > kManySeries ? 0.75 * kSampleWidth : kSampleWidth;
  for (const PlotSeries& series : plot.series) {
    if (series.title.empty()) continue;
    const std::string text = series.title + std::string(diverged(series) ? kDiverged : "");
    const double width = sample + text_width(text) + kEntryGap;
    if (left > kTitleLeft && left + width - kEntryGap > plot.width) {
      left = kTitleLeft;
      ++row;
    }
    legend.push_back({&series, text, left, sample, row});
    left += width;
  }
  return legend;
}

std::size_t rows(const std::vector<LegendEntry>& legend) {
  return legend.empty() ? 0 : legend.back().row + 1;
}

bool marks_lines(const Plot& plot) { return plot.series.size() > kMostUnmarked; }

double band_opacity(const Plot& plot) {
  const auto bands =
      std::ranges::count_if(plot.series, [](const PlotSeries& one) { return !one.low.empty(); });
  return bands <= 2 ? 0.3 : bands <= 4 ? 0.2 : 0.12;
}

std::string dash_of(const PlotStyle& style) { return style.dash.empty() ? "dt 1" : "dt " + style.dash; }

std::string plot_legend_script(const Plot& plot, const std::vector<LegendEntry>& legend, double top,
                               double height) {
  std::string out = "unset key\n";
  double width = 2.2;
  for (const LegendEntry& entry : legend) {
    const PlotStyle& style = entry.series->style;
    const double y = 1 - (top + kLineHeight * (static_cast<double>(entry.row) + 0.5)) / height;
    const auto x = [&](double pixels) { return (entry.left + pixels) / plot.width; };
    if (!entry.series->low.empty())
      out += fmt::format(
          "set object rectangle from screen {:.6f},{:.6f} to screen {:.6f},{:.6f} front fc rgb '{}' "
          "fs transparent solid {} noborder\n",
          x(0), y - kBandHeight / 2 / height, x(entry.sample - 8), y + kBandHeight / 2 / height, style.color,
          band_opacity(plot));
    width += 0.001;  // gnuplot joins samples of one colour and width into one path, with one dash
    if (entry.series->mark != PlotSeries::Mark::kPoints)
      out += fmt::format(
          "set arrow from screen {:.6f},{:.6f} to screen {:.6f},{:.6f} nohead lw {:.3f} {} lc rgb '{}'\n",
          x(0), y, x(entry.sample - 8), y, width, dash_of(style), style.color);
    if (entry.series->mark != PlotSeries::Mark::kLine || marks_lines(plot))
      out += fmt::format("set label '' at screen {:.6f},{:.6f} point pt {} ps 0.8 lc rgb '{}'\n",
                         x(entry.sample / 2 - 4), y, style.point, style.color);
    out += fmt::format("set label {} at screen {:.6f},{:.6f} left noenhanced\n", gnuplot_string(entry.text),
                       x(entry.sample), y);
  }
  return out;
}

std::string line_element(const PlotSeries& series, std::size_t number) {
  constexpr std::size_t kManyPoints = 30;
  const std::string points =
      fmt::format("pt {} ps {} ", series.style.point, drawn_values(series) > kManyPoints ? 0.5 : 0.8);
  const double width = series.low.empty() ? 2.2 : 1.6;  // a band must not hide under its line
  const std::string line = fmt::format("lw {} {} ", width, dash_of(series.style));
  const auto element = [&](std::string_view with, const std::string& how) {
    return fmt::format("$series{} using 1:2 with {} {}lc rgb '{}'", number, with, how, series.style.color);
  };
  switch (series.mark) {
    case PlotSeries::Mark::kLine: return element("lines", line);
    case PlotSeries::Mark::kPoints: return element("points", points);
    case PlotSeries::Mark::kLineAndPoints: return element("linespoints", line + points);
  }
  return {};
}

// Values of a line to mark: evenly over the picture's width, between those of its neighbours.
std::set<std::size_t> marked_values(const Plot& plot, std::size_t number, const PlotRange& reach) {
  const PlotSeries& series = plot.series[number];
  const auto across = [&](double x) {
    return plot.x.log ? std::log(x / reach.low) / std::log(reach.high / reach.low)
                      : (x - reach.low) / (reach.high - reach.low);
  };
  std::set<std::size_t> marked;
  const std::size_t count = drawn_values(series);
  const double shift = (static_cast<double>(number) + 0.5) / static_cast<double>(plot.series.size());
  for (std::size_t mark = 0; mark < kMarksPerLine; ++mark) {
    const double wanted = (static_cast<double>(mark) + shift) / static_cast<double>(kMarksPerLine);
    std::optional<std::size_t> nearest;
    double least = 1.0 / static_cast<double>(kMarksPerLine);
    for (std::size_t i = 0; i < count; ++i) {
      const double away = std::abs(across(series.x[i]) - wanted);
      if (!(away < least)) continue;  // neither what is not on the axis
      least = away;
      nearest = i;
    }
    if (nearest) marked.insert(*nearest);
  }
  return marked;
}

std::string marks_script(const Plot& plot, std::size_t number, const PlotRange& reach, const PlotRange& y) {
  std::string out = fmt::format("$marks{} << END\n", number);
  for (const std::size_t i : marked_values(plot, number, reach))
    out += fmt::format("{:.17g} {:.17g}\n", plot.series[number].x[i],
                       kept_near(plot.series[number].y[i], y, plot.y.log));
  return out + "END\n";
}

// The commands that draw, and the data that they name.
struct SeriesScript {
  std::string data, plot;
};

SeriesScript series_script(const Plot& plot, const PlotRange& y) {
  std::string data;
  std::vector<std::string> bands, solid, dashed, marks, ends;
  PlotRange reach;  // the range of x, without a margin
  for (const PlotSeries& series : plot.series)
    for (const double x : series.x) reach.take(x, plot.x.log);
  constexpr double kEarly = 0.005;
  const double late = plot.x.log ? reach.high * std::pow(reach.low / reach.high, kEarly)
                                 : reach.high - kEarly * (reach.high - reach.low);
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    const PlotSeries& series = plot.series[i];
    const std::size_t count = drawn_values(series);
    if (count == 0) continue;
    data += points_script(series, i, y, plot.y.log);
    if (!series.low.empty())
      bands.push_back(
          fmt::format("$series{} using 1:3:4 with filledcurves fs transparent solid {} noborder lc rgb '{}'",
                      i, band_opacity(plot), series.style.color));
    (series.style.dash.empty() ? solid : dashed).push_back(line_element(series, i));
    if (marks_lines(plot) && series.mark == PlotSeries::Mark::kLine) {
      data += marks_script(plot, i, reach, y);
      marks.push_back(fmt::format("$marks{} with points pt {} ps 0.8 lw 1.6 lc rgb '{}'", i,
                                  series.style.point, series.style.color));
    }
    const bool early = series.mark == PlotSeries::Mark::kLine && series.x[count - 1] < late;
    if (!diverged(series) && !early) continue;
    data += fmt::format("$end{} << END\n{:.17g} {:.17g}\nEND\n", i, series.x[count - 1],
                        std::clamp(series.y[count - 1], y.low, y.high));
    ends.push_back(fmt::format("$end{} with points {} lc rgb '{}'", i,
                               diverged(series)    ? "pt 2 ps 1.6 lw 2.5"
                               : marks_lines(plot) ? fmt::format("pt {} ps 0.9", series.style.point)
                                                   : "pt 7 ps 0.9",
                               series.style.color));
  }
  std::vector<std::string> elements = std::move(bands);
  for (const auto* more : {&solid, &dashed, &marks, &ends})
    elements.insert(elements.end(), more->begin(), more->end());
  if (elements.empty()) elements.emplace_back("NaN");
  return {data, fmt::format("plot {}\n", fmt::join(elements, ", \\\n     "))};
}

// gnuplot sets axis labels by its guess of a font; at places of our own they are inside every picture.
std::string labels_script(const Plot& plot, const PlotMargins& margins, const PlotSize& size) {
  const double middle_x = (margins.left + size.width - margins.right) / 2;
  const double middle_y = (margins.top + size.height - margins.bottom) / 2;
  std::string out = label_script(plot.x.label, middle_x, size.height - kLabelMiddle, size, "center") +
                    label_script(plot.y.label, kLabelMiddle, middle_y, size, "center rotate by 90");
  if (!plot.title.empty())
    out += label_script(plot.title, kTitleLeft, 0.75 * kLineHeight, size, "left font ',16'");
  return out;
}

// Margins, title, labels and legend for a picture of that height.
std::string layout_script(const Plot& plot, const std::vector<LegendEntry>& legend, const PlotRange& y,
                          double height) {
  double longest = 0;
  for (const std::string& text : ticks_of(plot.y, y).texts) longest = std::max(longest, text_width(text));
  const double title = plot.title.empty() ? 6 : kLineHeight + 10;
  const PlotMargins margins{2 * kLabelMiddle + 22 + longest, kPlotRightMargin,
                            title + kLineHeight * static_cast<double>(rows(legend)) + 12, kPlotBottomMargin};
  const PlotSize size{static_cast<double>(plot.width), height};
  return margins_script(margins, size) + labels_script(plot, margins, size) +
         plot_legend_script(plot, legend, title, height);
}

PlotScript script(const Plot& plot) {
  const PlotRange x = x_range(plot), y = y_range(plot);
  const std::vector<LegendEntry> legend = legend_of(plot);
  const std::size_t more_rows = std::max(rows(legend), kUsualLegendRows) - kUsualLegendRows;
  const int height = plot.height + static_cast<int>(kLineHeight) * static_cast<int>(more_rows);
  std::string out =
      "set border 3 lw 1 lc rgb '#444444'\n"
      "set tics nomirror out scale 0.6\n"
      "set grid xtics ytics lt 1 lw 0.6 lc rgb '#dddddd'\n"
      "unset xlabel\nunset ylabel\n" +
      layout_script(plot, legend, y, height) + axis_script('x', plot.x, x) + axis_script('y', plot.y, y);
  for (const double at : plot.vertical_lines)
    out += fmt::format(
        "set arrow from first {0:.17g}, graph 0 to first {0:.17g}, graph 1 nohead dt (3,3) lw 1.2 "
        "lc rgb '{1}'\n",
        at, kGreyLine);
  auto [data, drawing] = series_script(plot, y);
  return {plot.name, plot.width, height, out + data, std::move(drawing)};
}

}  // namespace

Result<Drawing> draw(const Plot& plot) { return render(script(plot)); }

}  // namespace mfl
