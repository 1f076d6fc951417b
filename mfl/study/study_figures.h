// The figures of a study.
#pragma once

#include <cstddef>

#include "mfl/base/result.h"
#include "mfl/report/dot_plot.h"
#include "mfl/report/heat_map.h"
#include "mfl/report/plot.h"
#include "mfl/study/results.h"

namespace mfl {

// The metric over rounds in one cell: for every algorithm the mean over seeds, and a band from the least to
// the largest.
Plot curves_of(const StudyEvidence& evidence, std::size_t cell);

// Algorithm x split of one problem: how far each is behind the best of its split, with the final values as
// text.
HeatMap final_map(const StudyEvidence& evidence, const StudyResults& results, std::size_t problem);

// A heat map of the rounds to the target.
HeatMap rounds_map(const StudyEvidence& evidence, const StudyResults& results, std::size_t problem);

// Mean ranks with their intervals, the best first.
DotPlot ranking_plot(const StudyEvidence& evidence, const StudyResults& results);

}  // namespace mfl
