// Names with a value and its interval each, one under the other: a ranking.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mfl/base/result.h"
#include "mfl/report/plot.h"

namespace mfl {

struct DotRow {
  std::string name;
  std::optional<double> value = {};           // absent or not finite: only the note is there
  std::optional<double> low = {}, high = {};  // the interval; both or neither
  std::string note = {};                      // at the right, such as "5 of 5 seeds"
  PlotStyle style = {};                       // colour and point
};

// Rows come from top to bottom in the order given.
struct DotPlot {
  std::string name;   // name of the file; letters, digits, '-' and '_'
  std::string title;  // may be empty
  PlotAxis x = {};
  std::vector<DotRow> rows = {};
  int width = 560;  // width of the SVG in pixels; the rows decide its height
};

// Errors as draw(Plot).
Result<Drawing> draw(const DotPlot& plot);

}  // namespace mfl
