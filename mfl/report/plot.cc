#include "mfl/report/plot.h"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
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
constexpr std::size_t kUsualLegendRows = 2, kManySeries = 8;

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
    out +=
        fmt::format("{}{:.17g} {:.17g} {:.17g} {:.17g}\n", std::ranges::count(series.gaps, i) > 0 ? "\n" : "",
                    series.x[i], near(series.y[i]), near(series.low.empty() ? series.y[i] : series.low[i]),
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
          x(0), y, x(entry.sample - 8), y, width, dash_of(style), style.color);
    if (entry.series->mark != PlotSeries::Mark::kLine)
      out += fmt::format("set label '' at screen {:.6f},{:.6f} point pt {} ps 0.8 lc rgb '{}'\n",
                         x(entry.sample / 2 - 4), y, style.point, style.color);
    out += fmt::format("set label {} at screen {:.6f},{:.6f} left noenhanced\n", gnuplot_string(entry.text),
                       x(entry.sample), y);
  }
  return out;
}

std::string line_element(const PlotSeries& series, std::size_t number) {
  const std::string points = fmt::format("pt {} ps 0.8 ", series.style.point);
  const double width = series.low.empty() ? 2.2 : 1.3;  // a band must not hide under its line
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

// The commands that draw, and the data that they name.
struct SeriesScript {
  std::string data, plot;
};

SeriesScript series_script(const Plot& plot, const Range& y) {
  std::string data;
  std::vector<std::string> bands, solid, dashed, ends;
  Range reach;  // of x, without a margin
  for (const PlotSeries& series : plot.series)
    for (const double x : series.x) reach.take(x, plot.x.log);
  constexpr double kEarly = 0.005;
  const double late = plot.x.log ? reach.high * std::pow(reach.low / reach.high, kEarly)
                                 : reach.high - kEarly * (reach.high - reach.low);
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    const PlotSeries& series = plot.series[i];
    const std::size_t count = drawn(series);
    if (count == 0) continue;
    data += points_script(series, i, y, plot.y.log);
    if (!series.low.empty())
      bands.push_back(
          fmt::format("$series{} using 1:3:4 with filledcurves fs transparent solid 0.3 noborder "
                      "lc rgb '{}'",
                      i, series.style.color));
    (series.style.dash.empty() ? solid : dashed).push_back(line_element(series, i));
    const bool early = series.mark == PlotSeries::Mark::kLine && series.x[count - 1] < late;
    if (!diverged(series) && !early) continue;
    data += fmt::format("$end{} << END\n{:.17g} {:.17g}\nEND\n", i, series.x[count - 1],
                        std::clamp(series.y[count - 1], y.low, y.high));
    ends.push_back(fmt::format("$end{} with points {} lc rgb '{}'", i,
                               diverged(series) ? "pt 2 ps 1.6 lw 2.5" : "pt 7 ps 0.9", series.style.color));
  }
  std::vector<std::string> elements = std::move(bands);
  for (const auto* more : {&solid, &dashed, &ends})
    elements.insert(elements.end(), more->begin(), more->end());
  if (elements.empty()) elements.emplace_back("NaN");
  return {data, fmt::format("plot {}\n", fmt::join(elements, ", \\\n     "))};
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
  double longest = 0;
  for (const std::string& text : ticks_of(plot.y, y).texts) longest = std::max(longest, text_width(text));
  const double left = 2 * kLabelMiddle + 22 + longest;
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
  const auto [data, drawing] = series_script(plot, y);
  const auto terminal = [](std::string_view how, std::string_view file) {
    return fmt::format("set terminal {}\nset output '{}'\n", how, file);
  };
  constexpr double kPointsPerPixel = 0.75 / 72;  // inches
  return out + data +
         terminal(fmt::format("svg size {},{} dynamic noenhanced font 'sans-serif,14' name 'figure'",
                              plot.width, height),
                  "figure.svg") +
         drawing +
         terminal(fmt::format("pngcairo size {},{} noenhanced font 'sans,14' fontscale 1.5 linewidth 2 "
                              "pointscale 2 background rgb 'white'",
                              2 * plot.width, 2 * height),
                  "figure.png") +
         drawing + "set output\nif (strstrt(GPVAL_TERMINALS, 'pdfcairo') > 0) {\n" +
         terminal(fmt::format("pdfcairo size {:.4f}in,{:.4f}in noenhanced font 'sans,14' fontscale 0.75 "
                              "linewidth 0.75 pointscale 0.75",
                              kPointsPerPixel * plot.width, kPointsPerPixel * height),
                  "figure.pdf") +
         drawing + "set output\n}\n";
}

// cairo writes the time of day into a PDF, always as many characters.
std::string without_date(std::string pdf) {
  constexpr std::string_view kBefore = "/CreationDate (D:";
  constexpr std::string_view kDigits = "20000101000000";
  if (const std::size_t at = pdf.find(kBefore); at != std::string::npos)
    for (std::size_t i = 0; i < kDigits.size() && at + kBefore.size() + i < pdf.size(); ++i)
      pdf[at + kBefore.size() + i] = kDigits[i];
  return pdf;
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
  std::error_code ignored;
  std::string pdf;
  if (const auto path = folder->path() / "figure.pdf"; std::filesystem::exists(path, ignored)) {
    MFL_TRY(pdf, read_file(path));
    pdf = without_date(std::move(pdf));
  }
  return Drawing{with_own_ids(svg, plot.name), std::move(png), std::move(pdf)};
}

}  // namespace mfl
