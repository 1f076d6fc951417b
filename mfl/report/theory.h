// What `mfl theory run` prints: a diagnosis for people and for programs.
#pragma once

#include <string>
#include <vector>

#include "mfl/base/json.h"
#include "mfl/report/table.h"
#include "mfl/theory/diagnosis.h"

namespace mfl {

// A part of a diagnosis.
struct TheoryTable {
  std::string title;  // may be empty
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;  // none: it does not apply
};

// Constants and the three propositions; those that there is something to say about.
std::vector<TheoryTable> theory_tables(const Diagnosis& diagnosis);

// Constants, conditions and the three propositions, each under a title that says what it is about.
std::string theory_text(const Diagnosis& diagnosis);

// Everything, every step included. What does not apply is null.
Json theory_json(const Diagnosis& diagnosis);

}  // namespace mfl
