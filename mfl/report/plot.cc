#include "mfl/report/plot.h"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>

#include "mfl/base/files.h"
#include "mfl/report/gnuplot.h"
#include "mfl/report/table.h"

namespace mfl {
namespace {

constexpr std::string_view kGreyLine = "#8a8a8a";
constexpr std::string_view kDiverged = " (diverged)";

// Of the SVG, in pixels; the PNG has the same shape.
constexpr double kRightMargin = 34, kBottomMargin = 60, kTitleLeft = 14, kLabelMiddle = 14;
constexpr double kLineHeight = 22, kSampleWidth = 52, kCharacterWidth = 8.2, kEntryGap = 16;
constexpr std::size_t kUsualLegendRows = 2;

const std::array<PlotStyle, 8>& palette() {
  static const std::array<PlotStyle, 8> styles = {{{"#0072B2", "", 7},
                                                   {"#D55E00", "(14,5)", 5},
                                                   {"#009E73", "(14,4,3,4)", 9},
                                                   {"#CC79A7", "(7,4)", 11},
                                                   {"#56B4E9", "(18,4,3,4,3,4)", 13},
                                                   {"#E69F00", "(3,3)", 4},
                                                   {"#000000", "(10,3,2,3)", 6},
                                                   {"#8A8A8A", "(5,2)", 8}}};
  return styles;
}

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  bool empty() const { return low > high; }
  void take(double value, bool log) {
    if (!std::isfinite(value) || (log && value <= 0)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

bool finite_at(const PlotSeries& series, std::size_t i) {
  return std::isfinite(series.x[i]) && std::isfinite(series.y[i]);
}

// How many values are drawn: those before the first that is not finite.
std::size_t drawn(const PlotSeries& series) {
  std::size_t i = 0;
  while (i < series.x.size() && finite_at(series, i)) ++i;
  return i;
}

bool diverged(const PlotSeries& series) { return series.diverged || drawn(series) < series.x.size(); }

Range padded(Range range, const PlotAxis& axis, double margin) {
  if (range.empty()) range = axis.log ? Range{1, 10} : Range{0, 1};
  if (axis.log) {
    const double factor = range.low == range.high ? 2 : std::pow(range.high / range.low, margin);
    range = {range.low / factor, range.high * factor};
  } else {
    const double width = range.high - range.low;
    const double more = width > 0 ? margin * width : std::max(std::abs(range.low), 1.0) * 0.05;
    range = {range.low - more, range.high + more};
  }
  if (axis.low) range.low = *axis.low;
  if (axis.high) range.high = *axis.high;
  return range;
}

Range y_range(const Plot& plot) {
  Range steady, all;
  for (const PlotSeries& series : plot.series)
    for (std::size_t i = 0; i < drawn(series); ++i)
      for (Range* range : {&all, diverged(series) ? &all : &steady}) {
        range->take(series.y[i], plot.y.log);
        if (!series.low.empty()) range->take(series.low[i], plot.y.log);
        if (!series.high.empty()) range->take(series.high[i], plot.y.log);
      }
  return padded(steady.empty() ? all : steady, plot.y, 0.05);
}

Range x_range(const Plot& plot) {
  Range range;
  for (const PlotSeries& series : plot.series)
    for (const double x : series.x) range.take(x, plot.x.log);
  return padded(range, plot.x, plot.x.log ? 0.03 : 0.0);
}

// In single quotes gnuplot expands nothing, and only a quote ends them. Doubling it fails at the start of a string, so an
// apostrophe takes its place.
std::string gnuplot_string(std::string_view text) {
  std::string out = "'";
  for (const char c : printable(text)) out += c == '\'' ? "\xE2\x80\x99" : std::string(1, c);
  return out + "'";
}

struct Ticks {
  std::vector<double> at;
  std::vector<std::string> texts;
};

Ticks ticks_of(const PlotAxis& axis, const Range& range) {
  Ticks ticks{axis_ticks(range.low, range.high, axis.log), {}};
  const double step = axis.log && range.high / range.low >= 10 ? 0
                      : ticks.at.size() > 1                    ? ticks.at[1] - ticks.at[0]
                                                               : 0;
  for (const double at : ticks.at) ticks.texts.push_back(tick_text(at, step));
  return ticks;
}

std::string axis_script(char letter, const PlotAxis& axis, const Range& range) {
  const Ticks ticks = ticks_of(axis, range);
  std::vector<std::string> labels;
  for (std::size_t i = 0; i < ticks.at.size(); ++i)
    labels.push_back(fmt::format("{} {:.17g}", gnuplot_string(ticks.texts[i]), ticks.at[i]));
  return fmt::format("{}set {}range [{:.17g}:{:.17g}]\nset {}tics ({})\n",
                     axis.log ? fmt::format("set logscale {}\n", letter) : "", letter, range.low, range.high,
                     letter, fmt::join(labels, ", "));
}

// Far outside the picture is far enough; gnuplot's pixels end somewhere.
double kept_near(double value, const Range& range, bool log) {
  if (log)
    return std::clamp(value, range.low * (range.low / range.high), range.high * (range.high / range.low));
  const double width = range.high - range.low;
  return std::clamp(value, range.low - 10 * width, range.high + 10 * width);
}

std::string points_script(const PlotSeries& series, std::size_t number, const Range& range, bool log) {
  std::string out = fmt::format("$series{} << END\n", number);
  const auto near = [&](double value) { return kept_near(value, range, log); };
  for (std::size_t i = 0; i < drawn(series); ++i)
    out += fmt::format("{:.17g} {:.17g} {:.17g} {:.17g}\n", series.x[i], near(series.y[i]),
                       near(series.low.empty() ? series.y[i] : series.low[i]),
                       near(series.high.empty() ? series.y[i] : series.high[i]));
  return out + "END\n";
}

// Near enough for a legend, in pixels.
double text_width(std::string_view text) {
  double width = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte & 0xC0U) == 0x80U) continue;  // the rest of a character
    width += byte >= 'A' && byte <= 'Z' ? 1.3 * kCharacterWidth : kCharacterWidth;
  }
  return width;
}

// The legend stands in rows above the picture, so that it never covers a curve.
struct LegendEntry {
  const PlotSeries* series = nullptr;
  std::string text;
  double left = 0;  // pixels
  std::size_t row = 0;
};

std::vector<LegendEntry> legend_of(const Plot& plot) {
  std::vector<LegendEntry> legend;
  double left = kTitleLeft;
  std::size_t row = 0;
  for (const PlotSeries& series : plot.series) {
    if (series.title.empty()) continue;
    const std::string text = series.title + std::string(diverged(series) ? kDiverged : "");
    const double width = kSampleWidth + text_width(text) + kEntryGap;
    if (left > kTitleLeft && left + width - kEntryGap > plot.width) {
      left = kTitleLeft;
      ++row;
    }
    legend.push_back({&series, text, left, row});
    left += width;
  }
  return legend;
}

std::size_t rows(const std::vector<LegendEntry>& legend) {
  return legend.empty() ? 0 : legend.back().row + 1;
}

std::string dash_of(const PlotStyle& style) { return style.dash.empty() ? "dt 1" : "dt " + style.dash; }

std::string legend_script(const Plot& plot, const std::vector<LegendEntry>& legend, double top,
                          double height) {
  std::string out = "unset key\n";
  double width = 2.2;
  for (const LegendEntry& entry : legend) {
    const PlotStyle& style = entry.series->style;
    const double y = 1 - (top + kLineHeight * (static_cast<double>(entry.row) + 0.5)) / height;
    const auto x = [&](double pixels) { return (entry.left + pixels) / plot.width; };
    width += 0.001;  // gnuplot joins samples of one colour and width into one path, with one dash
    if (entry.series->mark != PlotSeries::Mark::kPoints)
      out += fmt::format(
          "set arrow from screen {:.6f},{:.6f} to screen {:.6f},{:.6f} nohead lw {:.3f} {} lc rgb '{}'\n",
          x(0), y, x(kSampleWidth - 8), y, width, dash_of(style), style.color);
    if (entry.series->mark != PlotSeries::Mark::kLine)
      out += fmt::format("set label '' at screen {:.6f},{:.6f} point pt {} ps 0.8 lc rgb '{}'\n",
                         x(kSampleWidth / 2 - 4), y, style.point, style.color);
    out += fmt::format("set label {} at screen {:.6f},{:.6f} left noenhanced\n", gnuplot_string(entry.text),
                       x(kSampleWidth), y);
  }
  return out;
}

std::string line_element(const PlotSeries& series, std::size_t number) {
  const std::string points = fmt::format("pt {} ps 0.8 ", series.style.point);
  const std::string line = fmt::format("lw 2.2 {} ", dash_of(series.style));
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

std::string series_script(const Plot& plot, const Range& y) {
  std::string data;
  std::vector<std::string> bands, lines, crosses;
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    const PlotSeries& series = plot.series[i];
    const std::size_t count = drawn(series);
    if (count == 0) continue;
    data += points_script(series, i, y, plot.y.log);
    if (!series.low.empty())
      bands.push_back(
          fmt::format("$series{} using 1:3:4 with filledcurves fs transparent solid 0.14 noborder "
                      "lc rgb '{}'",
                      i, series.style.color));
    lines.push_back(line_element(series, i));
    if (diverged(series)) {
      data += fmt::format("$cross{} << END\n{:.17g} {:.17g}\nEND\n", i, series.x[count - 1],
                          std::clamp(series.y[count - 1], y.low, y.high));
      crosses.push_back(
          fmt::format("$cross{} with points pt 2 ps 1.6 lw 2.5  lc rgb '{}'", i, series.style.color));
    }
  }
  std::vector<std::string> elements = std::move(bands);
  elements.insert(elements.end(), lines.begin(), lines.end());
  elements.insert(elements.end(), crosses.begin(), crosses.end());
  if (elements.empty()) elements.emplace_back("NaN");
  return data + fmt::format("plot {}\n", fmt::join(elements, ", \\\n     "));
}

// gnuplot sets axis labels by its guess of a font; at places of our own they are inside every picture.
std::string labels_script(const Plot& plot, double left, double top, double height) {
  const auto label = [](int number, const std::string& text, double x, double y, std::string_view how) {
    return fmt::format("set label {} {} at screen {:.6f},{:.6f} {}\n", number, gnuplot_string(text), x, y,
                       how);
  };
  const double middle_x = (left + plot.width - kRightMargin) / 2 / plot.width;
  const double middle_y = (kBottomMargin + height - top) / 2 / height;
  std::string out =
      label(2, plot.x.label, middle_x, kLabelMiddle / height, "center noenhanced") +
      label(3, plot.y.label, kLabelMiddle / plot.width, middle_y, "center rotate by 90 noenhanced");
  if (!plot.title.empty())
    out += label(1, plot.title, kTitleLeft / plot.width, 1 - 0.75 * kLineHeight / height,
                 "left noenhanced font ',16'");
  return out;
}

// Margins, title, labels and legend for a picture of that height.
std::string layout_script(const Plot& plot, const std::vector<LegendEntry>& legend, const Range& y,
                          double height) {
  std::size_t longest = 0;
  for (const std::string& text : ticks_of(plot.y, y).texts) longest = std::max(longest, text.size());
  const double left = 2 * kLabelMiddle + 22 + kCharacterWidth * static_cast<double>(longest);
  const double title = plot.title.empty() ? 6 : kLineHeight + 10;
  const double top = title + kLineHeight * static_cast<double>(rows(legend)) + 12;
  return fmt::format(
             "set lmargin at screen {:.6f}\nset rmargin at screen {:.6f}\n"
             "set tmargin at screen {:.6f}\nset bmargin at screen {:.6f}\n",
             left / plot.width, 1 - kRightMargin / plot.width, 1 - top / height, kBottomMargin / height) +
         labels_script(plot, left, top, height) + legend_script(plot, legend, title, height);
}

std::string script(const Plot& plot) {
  const Range x = x_range(plot), y = y_range(plot);
  const std::vector<LegendEntry> legend = legend_of(plot);
  const std::size_t more_rows = std::max(rows(legend), kUsualLegendRows) - kUsualLegendRows;
  const int height = plot.height + static_cast<int>(kLineHeight) * static_cast<int>(more_rows);
  std::string out =
      "set encoding utf8\n"
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
  const std::string drawing = series_script(plot, y);
  const auto terminal = [](std::string_view how, std::string_view file) {
    return fmt::format("set terminal {}\nset output '{}'\n", how, file);
  };
  return out +
         terminal(fmt::format("svg size {},{} dynamic noenhanced font 'sans-serif,14' name 'figure'",
                              plot.width, height),
                  "figure.svg") +
         drawing +
         terminal(fmt::format("pngcairo size {},{} noenhanced font 'sans,14' fontscale 1.5 linewidth 2 "
                              "pointscale 2 background rgb 'white'",
                              2 * plot.width, 2 * height),
                  "figure.png") +
         drawing + "set output\n";
}

// gnuplot uses the same ids in every file; several figures in one document need ids of their own.
std::string own_ids(std::string tag, std::string_view name) {
  for (const std::string_view before : {" id='", " id=\"", "href='#", "url(#"})
    for (std::size_t at = tag.find(before); at != std::string::npos; at = tag.find(before, at + 1))
      tag.insert(at + before.size(), fmt::format("{}_", name));
  return tag;
}

// Ids in tags only: a title may hold any text.
std::string with_own_ids(const std::string& svg, std::string_view name) {
  std::string out;
  std::size_t at = 0;
  while (at < svg.size()) {
    const std::size_t open = std::min(svg.find('<', at), svg.size());
    const std::size_t close = std::min(svg.find('>', open), svg.size());
    out += svg.substr(at, open - at) + own_ids(svg.substr(open, close - open), name);
    at = close;
    if (at < svg.size()) out += svg[at++];
  }
  return out;
}

}  // namespace

PlotStyle algorithm_style(std::string_view algorithm) {
  if (algorithm == "mfl") return {"#D55E00", "", 7};
  if (algorithm == "fl") return {"#0072B2", "(12,5)", 5};
  if (algorithm == "mgd") return {"#009E73", "(14,4,3,4)", 9};
  if (algorithm == "gd") return {"#000000", "(3,4)", 13};
  return palette().back();
}

PlotStyle palette_style(std::size_t index) { return palette().at(index % palette().size()); }

std::vector<double> axis_ticks(double low, double high, bool log) {
  std::vector<double> ticks;
  if (log && high / low >= 10) {
    const int every = static_cast<int>(std::ceil(std::log10(high / low) / 7));
    const int last = static_cast<int>(std::floor(std::log10(high) + 1e-9));
    for (int power = static_cast<int>(std::ceil(std::log10(low) - 1e-9)); power <= last; power += every)
      ticks.push_back(std::pow(10, power));
    return ticks;
  }
  const double rough = (high - low) / 5;
  const double decade = std::pow(10, std::floor(std::log10(rough)));
  const double share = rough / decade;
  const double step = decade * (share < 1.5 ? 1 : share < 3.5 ? 2 : share < 7.5 ? 5 : 10);
  if (!(step > 0) || !std::isfinite(step)) return {low};
  const double first = std::ceil(low / step - 1e-9);
  for (int i = 0; (first + i) * step <= high + 1e-9 * step; ++i) ticks.push_back((first + i) * step);
  return ticks;
}

std::string tick_text(double value, double step) {
  const double size = std::abs(value);
  if (size >= 1e7 || (size > 0 && size < 1e-4 && step < 1e-6)) return fmt::format("{:.3g}", value);
  const double finest = step > 0 ? step : size > 0 ? std::pow(10, std::floor(std::log10(size) + 1e-9)) : 1;
  const int digits = std::clamp(static_cast<int>(std::ceil(-std::log10(finest) - 1e-9)), 0, 12);
  std::string text = fmt::format("{:.{}f}", value == 0 ? 0.0 : value, digits);
  const std::size_t whole = std::min(text.find('.'), text.size());
  for (std::size_t at = whole; at > 3 && text[at - 4] != '-'; at -= 3) text.insert(at - 3, ",");
  return text;
}

Result<Drawing> draw(const Plot& plot) {
  auto folder = TempFolder::make();
  if (!folder) return tl::unexpected<Error>(std::move(folder).error());
  MFL_CHECK(write_file(folder->path() / "figure.gp", script(plot)));
  if (auto drawn_it = run_gnuplot(folder->path(), "figure.gp"); !drawn_it)
    return fail_because(drawn_it.error(), fmt::format("cannot draw figure {}", plot.name));
  MFL_TRY(std::string svg, read_file(folder->path() / "figure.svg"));
  MFL_TRY(std::string png, read_file(folder->path() / "figure.png"));
  // gnuplot does not notice a disk that is full.
  if (svg.find("</svg>") == std::string::npos || png.find("IEND") == std::string::npos)
    return fail(ErrorCode::kRunFailed,
                fmt::format("cannot draw figure {}: gnuplot left half a file in {}", plot.name,
                            folder->path().parent_path().string()),
                "check that the temporary folder has space");
  return Drawing{with_own_ids(svg, plot.name), std::move(png)};
}

}  // namespace mfl
