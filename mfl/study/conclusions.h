// What a study shows, as sentences computed from its results alone: another result, another sentence.
#pragma once

#include <string>
#include <vector>

#include "mfl/study/results.h"

namespace mfl {

struct Conclusion {
  std::string id;  // stable, for programs: "ranking", "focus-losses"
  std::string text;
};

// In the order in which a reader needs them: the ranking, who wins on each split, the focus against the
// reference with every loss, the cost to the target, and what limits all of it. Differences within their
// uncertainty are called ties.
std::vector<Conclusion> conclusions_of(const StudyEvidence& evidence, const StudyResults& results);

// What a reader must know before trusting a number: selections at the edge of the grid, runs that diverged,
// few seeds.
std::vector<std::string> cautions_of(const StudyEvidence& evidence, const StudyResults& results);

// How the comparison was made fair, and what the numbers mean.
std::vector<std::string> methods_of(const StudyEvidence& evidence);

// "mnist, softmax, label-sorted"
std::string cell_text(const StudyPlan& plan, const StudyCell& cell);

}  // namespace mfl
