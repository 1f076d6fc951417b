// The tables of a study, for its page, papers and spreadsheets.
#pragma once

#include <string>

#include "mfl/report/table.h"
#include "mfl/study/results.h"

namespace mfl {

// One line per cell and algorithm, for people: "0.312 ± 0.004", "> 52.0 (2 of 3)".
Table results_table(const StudyEvidence& evidence, const StudyResults& results);
// The lines of one problem, without its column.
Table problem_table(const StudyEvidence& evidence, const StudyResults& results, std::size_t problem);
// The numbers of all tables for programs: one per column, 17 significant digits, empty where there is none.
Table results_data(const StudyEvidence& evidence, const StudyResults& results);

Table ranking_table(const StudyEvidence& evidence, const StudyResults& results);
Table ranking_data(const StudyEvidence& evidence, const StudyResults& results);

// What the target costs relative to the reference (cost_ratio).
Table costs_table(const StudyEvidence& evidence, const StudyResults& results);

// What was selected for each cell and algorithm, out of how many settings.
Table settings_table(const StudyEvidence& evidence, const StudyResults& results);

// One line per reported run, and one per point of every reported run.
Table runs_data(const StudyEvidence& evidence);
Table points_data(const StudyEvidence& evidence);

// "0.312 ± 0.004", "diverged" for nothing.
std::string summary_text(const Summary& summary, StudyMetric metric);
// "31.3 ± 1.5", "> 52.0 (2 of 3)", "not reached".
std::string cost_text(const CostToTarget& cost, const AlgorithmResult& result);

}  // namespace mfl
