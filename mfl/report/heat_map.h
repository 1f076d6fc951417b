// A table of numbers as colours, with the numbers in the cells.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mfl/base/result.h"
#include "mfl/report/plot.h"

namespace mfl {

struct HeatCell {
  std::optional<double> value = {};  // absent or not finite: an empty cell with a dashed border
  std::string text = {};             // empty: the value to three digits, or a dash where there is none
};

// One hue from light to dark, so that order survives colour blindness and print in grey; each text is black
// or white, whichever has more contrast. A legend above shows the scale, and what an empty cell means where
// there is one.
//
//   HeatMap map{.name = "rounds", .title = "Rounds to target", .value_label = "rounds",
//               .row_label = "algorithm", .column_label = "split",
//               .rows = {"fl", "mfl"}, .columns = {"iid", "sorted"},
//               .cells = {{{40}, {95}}, {{21}, {}}}};
//   MFL_TRY(Drawing drawing, draw(map));
struct HeatMap {
  std::string name;         // name of the file; letters, digits, '-' and '_'
  std::string title;        // may be empty
  std::string value_label;  // what the colours mean, with its unit
  std::string row_label = {}, column_label = {};
  std::vector<std::string> rows, columns;
  std::vector<std::vector<HeatCell>> cells = {};  // row by row; a missing one has no value
  bool log = false;          // colours over the logarithm; values that are not above 0 get the lightest one
  bool dark_is_low = false;  // where small values matter most
  std::string missing = "no value";  // what the legend calls an empty cell
  int width = 560;                   // width of the SVG in pixels; the rows decide its height
};

// Errors as draw(Plot).
Result<Drawing> draw(const HeatMap& map);

// The colour at a share of the scale, 0 (light) to 1 (dark), and the one of black and white that is read on
// it.
std::string heat_color(double share);
std::string heat_text_color(double share);

}  // namespace mfl
