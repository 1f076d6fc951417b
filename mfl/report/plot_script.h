// What the kinds of figures share: axes and texts in gnuplot's language, and the way from a script to a
// drawing.
#pragma once

#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "mfl/base/result.h"
#include "mfl/report/plot.h"

namespace mfl {

// Pixels of the SVG; the PNG has the same shape.
inline constexpr double kPlotLineHeight = 22, kPlotTitleLeft = 14, kPlotLabelMiddle = 14;

// A script without its terminals. `commands` run once, `drawing`, a plot command, once per terminal.
struct PlotScript {
  std::string name;           // name of the figure
  int width = 0, height = 0;  // size of the SVG in pixels
  std::string commands, drawing;
};

// Runs gnuplot. Errors as draw().
Result<Drawing> render(const PlotScript& script);

// The text as a string of gnuplot's: every character stands for itself.
std::string gnuplot_string(std::string_view text);

// About how wide the text is in pixels, at the size that legends and ticks have.
double text_width(std::string_view text);

// A text at a place in pixels, from the left and from the top of a picture of that size. `how` is gnuplot's:
// "center font ',12'".
struct PlotSize {
  double width = 0, height = 0;
};
std::string label_script(std::string_view text, double x, double y, const PlotSize& size,
                         std::string_view how);

// The margins around the axes in pixels.
struct PlotMargins {
  double left = 0, right = 0, top = 0, bottom = 0;
};
std::string margins_script(const PlotMargins& margins, const PlotSize& size);

struct PlotRange {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  bool empty() const { return low > high; }
  // Values that are not finite, and with `log` those not above 0, are passed over.
  void take(double value, bool log);
};

// The range with a share of it as margin on both sides; the axis's own ends win, and an empty range becomes
// one that can be drawn.
PlotRange padded(PlotRange range, const PlotAxis& axis, double margin);

struct PlotTicks {
  std::vector<double> at;
  std::vector<std::string> texts;
};
PlotTicks ticks_of(const PlotAxis& axis, const PlotRange& range);

// Scale, range and ticks of the axis x or y.
std::string axis_script(char letter, const PlotAxis& axis, const PlotRange& range);

}  // namespace mfl
