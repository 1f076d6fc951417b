// The page of `mfl theory run --page`: figures of the gaps and bounds, and tables.
#pragma once

#include <string>
#include <vector>

#include "mfl/base/result.h"
#include "mfl/report/folder.h"
#include "mfl/report/page.h"
#include "mfl/theory/diagnosis.h"

namespace mfl {

struct TheoryPage {
  std::string setting;  // "squared-svm on mnist, mfl, ..."
  std::string digest;   // digest of the final w
  const Diagnosis& diagnosis;
};

// Gap and h over the first intervals and over the whole run, bound and loss gap over T; those that apply.
std::vector<Plot> theory_plots(const Diagnosis& diagnosis);

// Writes report.html and figures/NAME.svg and .png, and publishes the folder. Needs gnuplot.
Result<void> publish_theory_page(ReportFolder& folder, const TheoryPage& page);

}  // namespace mfl
