#include "mfl/report/heat_map.h"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "mfl/report/plot_script.h"

namespace mfl {
namespace {

constexpr double kHeatRowHeight = 30, kHeatRightMargin = 14, kScaleWidth = 150, kScaleSteps = 50,
                 kHeatLabelGap = 8;
constexpr double kTicksSize = 14, kLargestText = 13, kSmallestText = 8;
constexpr double kTilt = 0.574, kTiltDegrees = 35;  // the sine, and the angle
constexpr std::string_view kNoValue = "–";

using Color = std::array<double, 3>;
constexpr std::array<Color, 5> kScale = {
    {{234, 242, 251}, {169, 207, 229}, {90, 161, 207}, {33, 102, 172}, {8, 41, 92}}};

Color color_at(double share) {
  const double place = std::clamp(share, 0.0, 1.0) * static_cast<double>(kScale.size() - 1);
  const std::size_t below = std::min(static_cast<std::size_t>(place), kScale.size() - 2);
  Color color{};
  for (std::size_t i = 0; i < color.size(); ++i)
    color.at(i) =
        std::lerp(kScale.at(below).at(i), kScale.at(below + 1).at(i), place - static_cast<double>(below));
  return color;
}

// Relative luminance as WCAG 2 defines it.
double luminance(const Color& color) {
  constexpr Color kWeights = {0.2126, 0.7152, 0.0722};
  double sum = 0;
  for (std::size_t i = 0; i < color.size(); ++i) {
    const double part = color.at(i) / 255;
    sum += kWeights.at(i) * (part <= 0.04045 ? part / 12.92 : std::pow((part + 0.055) / 1.055, 2.4));
  }
  return sum;
}

const HeatCell* cell_at(const HeatMap& map, std::size_t row, std::size_t column) {
  if (row >= map.cells.size() || column >= map.cells[row].size()) return nullptr;
  return &map.cells[row][column];
}

bool has_value(const HeatCell* cell) { return cell != nullptr && cell->value && std::isfinite(*cell->value); }

std::string heat_cell_text(const HeatCell* cell) {
  if (cell != nullptr && !cell->text.empty()) return cell->text;
  return has_value(cell) ? fmt::format("{:.3g}", *cell->value) : std::string(kNoValue);
}

struct HeatLayout {
  PlotRange values;
  bool missing = false;
  double longest_text = 0, cell_width = 0;
  bool tilted = false;  // the names of columns
  PlotMargins margins;
  PlotSize size;
};

double longest(const std::vector<std::string>& texts) {
  double width = 0;
  for (const std::string& text : texts) width = std::max(width, text_width(text));
  return width;
}

void take_cells(const HeatMap& map, HeatLayout& layout) {
  for (std::size_t row = 0; row < map.rows.size(); ++row)
    for (std::size_t column = 0; column < map.columns.size(); ++column) {
      const HeatCell* cell = cell_at(map, row, column);
      layout.missing = layout.missing || !has_value(cell);
      layout.longest_text = std::max(layout.longest_text, text_width(heat_cell_text(cell)));
      if (has_value(cell)) layout.values.take(*cell->value, map.log);
    }
}

HeatLayout heat_layout(const HeatMap& map) {
  HeatLayout layout;
  take_cells(map, layout);
  const auto columns = static_cast<double>(std::max<std::size_t>(map.columns.size(), 1));
  const double title = map.title.empty() ? 6 : kPlotLineHeight + 10;
  PlotMargins& margins = layout.margins;
  margins.left = (map.row_label.empty() ? 6 : 2 * kPlotLabelMiddle) + longest(map.rows) + 2 * kHeatLabelGap;
  margins.right = kHeatRightMargin;
  margins.top = title + kPlotLineHeight + 12;
  layout.cell_width = (map.width - margins.left - margins.right) / columns;
  layout.tilted = longest(map.columns) + 4 > layout.cell_width;
  margins.bottom =
      (layout.tilted ? kTilt * longest(map.columns) + kPlotLineHeight : kPlotLineHeight + kHeatLabelGap) +
      (map.column_label.empty() ? 4 : kPlotLineHeight);
  const auto rows = static_cast<double>(std::max<std::size_t>(map.rows.size(), 1));
  layout.size = {static_cast<double>(map.width),
                 std::ceil(margins.top + margins.bottom + rows * kHeatRowHeight)};
  return layout;
}

double colour_share(double value, const HeatMap& map, const PlotRange& range) {
  double share = 0.5;
  if (map.log && value <= 0)
    share = 0;
  else if (range.high > range.low)
    share = map.log ? std::log(value / range.low) / std::log(range.high / range.low)
                    : (value - range.low) / (range.high - range.low);
  return map.dark_is_low ? 1 - share : share;
}

// A page has its own black and white (page.cc); those on a cell's colour stay.
std::string fixed(const std::string& color) { return color == "#000000" ? "#010101" : "#fefefe"; }

// In cells from the upper left corner; y grows downwards.
std::string cell_script(const HeatMap& map, const HeatLayout& layout, std::size_t row, std::size_t column) {
  const HeatCell* cell = cell_at(map, row, column);
  const bool filled = has_value(cell);
  const double share = filled ? colour_share(*cell->value, map, layout.values) : 0;
  constexpr double kInset = 0.04;
  const double inset = filled ? 0 : kInset;
  const auto x = static_cast<double>(column), y = static_cast<double>(row);
  const double size = std::clamp(kTicksSize * (layout.cell_width - 4) / std::max(layout.longest_text, 1.0),
                                 kSmallestText, kLargestText);
  return fmt::format(
             "set object rectangle from first {},{} to first {},{} back {}\n", x + inset, y + inset,
             x + 1 - inset, y + 1 - inset,
             filled ? fmt::format("fc rgb '{}' fs solid border lc rgb '#ffffff' lw 1.5", heat_color(share))
                    : "fc rgb '#ffffff' fs solid border lc rgb '#8a8a8a' dt (3,3) lw 1") +
         fmt::format(
             "set label {} at first {},{} center font ',{:.1f}' textcolor rgb '{}' noenhanced front\n",
             gnuplot_string(heat_cell_text(cell)), x + 0.5, y + 0.5, size,
             filled ? fixed(heat_text_color(share)) : "#444444");
}

std::string names_script(const HeatMap& map, const HeatLayout& layout) {
  std::string out;
  for (std::size_t row = 0; row < map.rows.size(); ++row)
    out += label_script(map.rows[row], layout.margins.left - kHeatLabelGap,
                        layout.margins.top + kHeatRowHeight * (static_cast<double>(row) + 0.5), layout.size,
                        "right");
  const double below = layout.size.height - layout.margins.bottom;
  for (std::size_t column = 0; column < map.columns.size(); ++column)
    out += label_script(map.columns[column],
                        layout.margins.left + layout.cell_width * (static_cast<double>(column) + 0.5),
                        below + (layout.tilted ? kHeatLabelGap : 0.6 * kPlotLineHeight), layout.size,
                        layout.tilted ? fmt::format("right rotate by {}", kTiltDegrees) : "center");
  const double middle_x = (layout.margins.left + layout.size.width - layout.margins.right) / 2;
  const double middle_y = (layout.margins.top + below) / 2;
  if (!map.column_label.empty())
    out += label_script(map.column_label, middle_x, layout.size.height - kPlotLabelMiddle, layout.size,
                        "center");
  if (!map.row_label.empty())
    out += label_script(map.row_label, kPlotLabelMiddle, middle_y, layout.size, "center rotate by 90");
  if (!map.title.empty())
    out += label_script(map.title, kPlotTitleLeft, 0.75 * kPlotLineHeight, layout.size, "left font ',16'");
  return out;
}

std::string box_script(double left, double right, double middle, const PlotSize& size, std::string_view how) {
  constexpr double kHalf = 7;
  return fmt::format("set object rectangle from screen {:.6f},{:.6f} to screen {:.6f},{:.6f} {}\n",
                     left / size.width, 1 - (middle - kHalf) / size.height, right / size.width,
                     1 - (middle + kHalf) / size.height, how);
}

std::string heat_legend_script(const HeatMap& map, const HeatLayout& layout) {
  const double middle = layout.margins.top - 12 - kPlotLineHeight / 2;
  double left = kPlotTitleLeft;
  std::string out;
  const auto text = [&](std::string_view said) {
    out += label_script(said, left, middle, layout.size, "left");
    left += text_width(said) + kHeatLabelGap;
  };
  if (!map.value_label.empty()) text(map.value_label + ":");
  if (!layout.values.empty()) {
    text(fmt::format("{:.3g}", layout.values.low));
    for (double step = 0; step < kScaleSteps; ++step) {
      const double share = (step + 0.5) / kScaleSteps;
      // Wider by a pixel, so that no seam shows between two.
      out += box_script(
          left + kScaleWidth * step / kScaleSteps,
          left + kScaleWidth * (step + 1) / kScaleSteps + (step + 1 < kScaleSteps ? 1 : 0), middle,
          layout.size,
          fmt::format("fc rgb '{}' fs solid noborder", heat_color(map.dark_is_low ? 1 - share : share)));
    }
    left += kScaleWidth + kHeatLabelGap;
    text(fmt::format("{:.3g}", layout.values.high));
    left += kHeatLabelGap;
  }
  if (!layout.missing) return out;
  constexpr double kBox = 24;
  out += box_script(left, left + kBox, middle, layout.size,
                    "fc rgb '#ffffff' fs solid border lc rgb '#8a8a8a' dt (3,3) lw 1");
  left += kBox + kHeatLabelGap;
  text(map.missing);
  return out;
}

}  // namespace

std::string heat_color(double share) {
  const Color color = color_at(share);
  return fmt::format("#{:02x}{:02x}{:02x}", std::lround(color[0]), std::lround(color[1]),
                     std::lround(color[2]));
}

std::string heat_text_color(double share) {
  constexpr double kFlare = 0.05;  // the term of WCAG's formula of contrast
  const double back = luminance(color_at(share)) + kFlare;
  return back / kFlare > (1 + kFlare) / back ? "#000000" : "#ffffff";
}

Result<Drawing> draw(const HeatMap& map) {
  const HeatLayout layout = heat_layout(map);
  std::string out =
      "unset key\nunset border\nunset tics\n" + margins_script(layout.margins, layout.size) +
      fmt::format("set xrange [0:{}]\nset yrange [{}:0]\n", std::max<std::size_t>(map.columns.size(), 1),
                  std::max<std::size_t>(map.rows.size(), 1));
  for (std::size_t row = 0; row < map.rows.size(); ++row)
    for (std::size_t column = 0; column < map.columns.size(); ++column)
      out += cell_script(map, layout, row, column);
  out += names_script(map, layout) + heat_legend_script(map, layout);
  return render({map.name, map.width, static_cast<int>(layout.size.height), std::move(out), "plot NaN\n"});
}

}  // namespace mfl
