// Runs a study: tunes, selects, trains for the reported seeds, and reads what the store holds of it.
#pragma once

#include <cstddef>
#include <filesystem>

#include "mfl/base/result.h"
#include "mfl/report/report.h"
#include "mfl/run/runner.h"
#include "mfl/study/evidence.h"
#include "mfl/study/plan.h"

namespace mfl {

struct StudyOutcome {
  StudyEvidence evidence;
  std::size_t runs = 0, reused = 0;
};

// Two sweeps, the second with what the first selected. Runs that the store holds are not trained again, so a
// study that was interrupted or killed continues with the same call and comes to the same evidence. An
// interruption is kRunFailed; a run that diverges is part of the evidence.
Result<StudyOutcome> run_study(const StudyPlan& plan, const std::filesystem::path& store,
                               const RunHooks& hooks);

// report.html with figures/, tables/*.md, .tex and .csv, data/runs.csv, data/curves.csv and study.json. The
// same bytes for the same evidence: nothing in it depends on when, where or in how many attempts the runs
// were trained.
Result<Report> study_report(const StudyOutcome& study);

}  // namespace mfl
