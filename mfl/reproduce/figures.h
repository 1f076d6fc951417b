// The figures of the paper, with further ones that show what they leave out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mfl/report/plot.h"
#include "mfl/reproduce/evidence.h"

namespace mfl {

struct FigurePoint {
  std::uint64_t seed = 0;
  double x = 0, y = 0;
};

struct FigureSeries {
  std::string title;
  PlotStyle style;
  PlotSeries::Mark mark = PlotSeries::Mark::kLine;
  bool diverged = false;  // for at least one seed
  std::vector<FigurePoint> points;
};

struct FigureData {
  std::string figure;   // number in the paper: "4a"
  std::string name;     // name of the file: "fig4a", "fig4a-squared-svm"
  std::string title;    // in the picture
  std::string caption;  // under it
  bool in_paper = true;
  PlotAxis x, y;
  std::vector<FigureSeries> series;
  std::vector<double> vertical_lines = {};
};

// The figures for which runs exist, in the order of the paper, each followed by the figures that mfl adds to
// it.
std::vector<FigureData> figures_of(const Evidence& evidence);

// The mean over seeds at every x, and with several seeds a band from the least to the largest.
Plot plot_of(const FigureData& figure);

// "series,seed,x,y", one line a point, 17 significant digits.
std::string csv_of(const FigureData& figure);

}  // namespace mfl
