// What `mfl report` writes: any runs of the store as a page. Reads the store only.
#pragma once

#include <span>
#include <string>

#include "mfl/base/result.h"
#include "mfl/record/store.h"
#include "mfl/report/compare.h"
#include "mfl/report/report.h"

namespace mfl {

struct ReportLook {
  std::string x = "steps";  // as runs_figures()
  std::string title = {};   // empty: what runs they are
};

// A headline, curves of loss and accuracy for each model and problem, the comparison, the configuration once
// with what differs, and for each run of a few its digests, where and when it ran; runs that differ only in
// the seed are means with bands, and the runs a table. data/records.csv and data/rounds.csv, and the
// comparison as data/comparison.csv, .md and .tex. `ids` as Store::get takes them; a run named twice counts
// once.
Result<Report> runs_report(const Store& store, std::span<const std::string> ids,
                           const CompareOptions& options = {}, const ReportLook& look = {});

}  // namespace mfl
