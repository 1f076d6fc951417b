// A figure as a value, drawn by gnuplot as SVG, PNG and PDF. Equal figures give equal bytes.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mfl/base/result.h"

namespace mfl {

// Colour, dash and point together, so that series differ for colour-blind eyes and in grey print as well.
struct PlotStyle {
  std::string color = "#000000";  // a colour of Okabe and Ito's palette
  std::string dash = {};          // gnuplot's dash pattern; empty: solid
  int point = 7;                  // gnuplot's point type
};

// The style of "gd", "mgd", "fl" or "mfl", the same in every figure; another name gets the last style of the
// palette.
PlotStyle algorithm_style(std::string_view algorithm);

// A style for each of the series that these algorithms give: the four above keep theirs, the others get those
// of the palette that look least like the rest. Of 16 series no two share colour and dash, colour and point,
// or dash and point.
std::vector<PlotStyle> algorithm_styles(std::span<const std::string> algorithms);

// Styles for series that are no algorithms, in their order: eight colours, and after the last the first again
// with another dash and another point. Of the first 16, no two share colour and dash, colour and point, or
// dash and point (for print in grey); of the first 64, no two share colour and dash.
inline constexpr std::size_t kPaletteStyles = 64;
PlotStyle palette_style(std::size_t index);

struct PlotAxis {
  std::string label;  // with its unit
  bool log = false;   // values that are not above 0 are left out
  // Absent: what the series need, with a margin.
  std::optional<double> low = {}, high = {};
};

struct PlotSeries {
  enum class Mark { kLine, kPoints, kLineAndPoints };

  std::string title;  // in the legend; empty: not there
  std::vector<double> x, y;
  std::vector<double> low, high;  // a band around y, also in the legend; empty, or of the length of x
  PlotStyle style = {};
  Mark mark = Mark::kLine;
  bool diverged = false;               // also where a value of y is not finite
  std::vector<std::size_t> gaps = {};  // values before which the line is interrupted
};

// With more than six series, lines also have their points at a few places, and so has the legend. Dashed
// lines are drawn over solid ones, so that of two equal curves both are seen. A line that ends before the
// figure does has a point at its end. A series that diverged is drawn up to its last finite value, which gets
// a cross, and its title says "(diverged)". It does not affect the range of y, unless every series diverged.
struct Plot {
  std::string name;   // name of the file; letters, digits, '-' and '_'
  std::string title;  // may be empty
  PlotAxis x, y;
  std::vector<PlotSeries> series;
  std::vector<double> vertical_lines = {};  // thin, at these values of x
  // The size of the SVG in pixels; the PNG has twice as many. A legend of many rows adds to the height.
  int width = 560, height = 400;
};

struct Drawing {
  std::string svg;  // scales with its container; its ids start with the plot's name
  std::string png;
  std::string pdf = {};  // empty where this gnuplot has no pdfcairo
};

// Errors are kRunFailed: gnuplot is not installed, or what it said.
Result<Drawing> draw(const Plot& plot);

// Where the axis has its ticks: values of the 1-2-5 series in [low, high]; powers of ten when log and the
// range has room.
std::vector<double> axis_ticks(double low, double high, bool log);

// "60,000", "0.27", "10⁻⁷", "3×10⁷": the fewest digits that tell a tick from one `step` away.
std::string tick_text(double value, double step);

}  // namespace mfl
