#include "mfl/report/dot_plot.h"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "mfl/report/plot_script.h"

namespace mfl {
namespace {

constexpr double kDotRowHeight = 26, kDotLabelGap = 10, kDotRightMargin = 26, kDotBottomMargin = 60;

// Whether the row has something on the axis.
bool is_drawn(const DotRow& row, const PlotAxis& axis) {
  return row.value && std::isfinite(*row.value) && (!axis.log || *row.value > 0);
}

PlotRange range_of(const DotPlot& plot) {
  PlotRange range;
  for (const DotRow& row : plot.rows) {
    if (!is_drawn(row, plot.x)) continue;
    for (const auto& value : {row.value, row.low, row.high})
      if (value) range.take(*value, plot.x.log);
  }
  return padded(range, plot.x, 0.04);
}

struct DotLayout {
  PlotMargins margins;
  PlotSize size;
};

DotLayout dot_layout(const DotPlot& plot) {
  double names = 0, notes = 0;
  for (const DotRow& row : plot.rows) {
    names = std::max(names, text_width(row.name));
    notes = std::max(notes, text_width(row.note));
  }
  const double title = plot.title.empty() ? 6 : kPlotLineHeight + 10;
  const PlotMargins margins{kPlotTitleLeft + names + kDotLabelGap,
                            kDotRightMargin + (notes > 0 ? notes + kDotLabelGap : 0), title + 8,
                            kDotBottomMargin};
  const auto rows = static_cast<double>(std::max<std::size_t>(plot.rows.size(), 1));
  return {margins,
          {static_cast<double>(plot.width), std::ceil(margins.top + margins.bottom + rows * kDotRowHeight)}};
}

std::string texts_script(const DotPlot& plot, const DotLayout& layout) {
  std::string out;
  for (std::size_t i = 0; i < plot.rows.size(); ++i) {
    const double y = layout.margins.top + kDotRowHeight * (static_cast<double>(i) + 0.5);
    out += label_script(plot.rows[i].name, layout.margins.left - kDotLabelGap, y, layout.size, "right");
    if (!plot.rows[i].note.empty())
      out += label_script(plot.rows[i].note, layout.size.width - layout.margins.right + kDotLabelGap, y,
                          layout.size, "left");
  }
  const double middle = (layout.margins.left + layout.size.width - layout.margins.right) / 2;
  out += label_script(plot.x.label, middle, layout.size.height - kPlotLabelMiddle, layout.size, "center");
  if (!plot.title.empty())
    out += label_script(plot.title, kPlotTitleLeft, 0.75 * kPlotLineHeight, layout.size, "left font ',16'");
  return out;
}

// An interval that leaves the axis is cut at its end.
std::string rows_script(const DotPlot& plot, const PlotRange& range) {
  std::string data;
  for (std::size_t i = 0; i < plot.rows.size(); ++i) {
    const DotRow& row = plot.rows[i];
    if (!is_drawn(row, plot.x)) continue;
    const auto on_axis = [&](double value) { return std::clamp(value, range.low, range.high); };
    const double y = static_cast<double>(i) + 0.5;
    if (row.low && row.high && std::isfinite(*row.low) && std::isfinite(*row.high)) {
      data += fmt::format(
          "set arrow from first {:.17g},{} to first {:.17g},{} heads size graph 0.008,90 lw 2 lc rgb '{}'\n",
          on_axis(*row.low), y, on_axis(*row.high), y, row.style.color);
    }
    data += fmt::format("set label '' at first {:.17g},{} point pt {} ps 1.1 lc rgb '{}' front\n",
                        on_axis(*row.value), y, row.style.point, row.style.color);
  }
  return data;
}

}  // namespace

Result<Drawing> draw(const DotPlot& plot) {
  const DotLayout layout = dot_layout(plot);
  const PlotRange range = range_of(plot);
  std::string out =
      "unset key\nset border 1 lw 1 lc rgb '#444444'\nset tics nomirror out scale 0.6\n"
      "set grid xtics lt 1 lw 0.6 lc rgb '#dddddd'\n" +
      margins_script(layout.margins, layout.size) + axis_script('x', plot.x, range) +
      fmt::format("unset ytics\nset yrange [{}:0]\n", std::max<std::size_t>(plot.rows.size(), 1));
  for (std::size_t i = 0; i < plot.rows.size(); ++i)
    out += fmt::format(
        "set arrow from graph 0, first {0} to graph 1, first {0} nohead dt (1,4) lw 0.8 lc rgb '#bbbbbb' "
        "back\n",
        static_cast<double>(i) + 0.5);
  out += texts_script(plot, layout) + rows_script(plot, range);
  return render({plot.name, plot.width, static_cast<int>(layout.size.height), std::move(out), "plot NaN\n"});
}

}  // namespace mfl
