#include <array>
#include <limits>
#include <span>

#include "mfl/report/plot.h"

namespace mfl {
namespace {

constexpr std::size_t kColors = 8, kMarkers = 16;
// Filled points for the first eight, open ones or strokes for the next.
constexpr std::array<int, kMarkers> kPoints = {7, 5, 9, 11, 13, 15, 2, 3, 6, 4, 8, 10, 12, 14, 1, 7};

const std::array<PlotStyle, kColors>& palette() {
  static const std::array<PlotStyle, kColors> styles = {{{"#0072B2", ""},
                                                         {"#D55E00", "(14,5)"},
                                                         {"#009E73", "(14,4,3,4)"},
                                                         {"#CC79A7", "(7,4)"},
                                                         {"#56B4E9", "(18,4,3,4,3,4)"},
                                                         {"#E69F00", "(3,3)"},
                                                         {"#000000", "(10,3,2,3)"},
                                                         {"#8A8A8A", "(5,2)"}}};
  return styles;
}

// How much alike two styles look; that of the same colour counts most.
int likeness(const PlotStyle& a, const PlotStyle& b) {
  const bool color = a.color == b.color, dash = a.dash == b.dash, point = a.point == b.point;
  return (color ? 20 : 0) + (dash ? 2 : 0) + (point ? 1 : 0) + (color && dash ? 2000 : 0) +
         (color && point ? 200 : 0) + (dash && point ? 200 : 0);
}

PlotStyle least_alike(std::span<const PlotStyle> taken) {
  PlotStyle best;
  int least = std::numeric_limits<int>::max();
  for (std::size_t i = 0; i < kPaletteStyles; ++i) {
    const PlotStyle style = palette_style(i);
    int sum = 0;
    for (const PlotStyle& other : taken) sum += likeness(style, other);
    if (sum >= least) continue;
    least = sum;
    best = style;
  }
  return best;
}

bool has_own_style(std::string_view algorithm) {
  return algorithm == "mfl" || algorithm == "fl" || algorithm == "mgd" || algorithm == "gd";
}

}  // namespace

PlotStyle algorithm_style(std::string_view algorithm) {
  if (algorithm == "mfl") return {"#D55E00", "", 7};
  if (algorithm == "fl") return {"#0072B2", "(12,5)", 5};
  if (algorithm == "mgd") return {"#009E73", "(14,4,3,4)", 9};
  if (algorithm == "gd") return {"#000000", "(3,4)", 13};
  return palette().back();
}

std::vector<PlotStyle> algorithm_styles(std::span<const std::string> algorithms) {
  std::vector<PlotStyle> styles(algorithms.size()), taken;
  for (std::size_t i = 0; i < algorithms.size(); ++i)
    if (has_own_style(algorithms[i])) taken.push_back(styles[i] = algorithm_style(algorithms[i]));
  for (std::size_t i = 0; i < algorithms.size(); ++i)
    if (!has_own_style(algorithms[i])) taken.push_back(styles[i] = least_alike(taken));
  return styles;
}

PlotStyle palette_style(std::size_t index) {
  const std::size_t again = index / kColors;
  PlotStyle style = palette().at(index % kColors);
  style.dash = palette().at((index + 3 * again) % kColors).dash;
  style.point = kPoints.at((index + 3 * (index / kMarkers)) % kMarkers);
  return style;
}

}  // namespace mfl
