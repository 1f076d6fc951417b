#include <array>

#include "mfl/report/plot.h"

namespace mfl {
namespace {

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

}  // namespace

PlotStyle algorithm_style(std::string_view algorithm) {
  if (algorithm == "mfl") return {"#D55E00", "", 7};
  if (algorithm == "fl") return {"#0072B2", "(12,5)", 5};
  if (algorithm == "mgd") return {"#009E73", "(14,4,3,4)", 9};
  if (algorithm == "gd") return {"#000000", "(3,4)", 13};
  return palette().back();
}

PlotStyle palette_style(std::size_t index) {
  const std::size_t size = palette().size(), again = index / size;
  PlotStyle style = palette().at(index % size);
  const PlotStyle& other = palette().at((index + 3 * again) % size);
  style.dash = other.dash;
  style.point = other.point;
  return style;
}

}  // namespace mfl
