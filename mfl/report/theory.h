// What `mfl theory run` prints: a diagnosis for people and for programs.
#pragma once

#include <string>

#include "mfl/base/json.h"
#include "mfl/theory/diagnosis.h"

namespace mfl {

// Constants, conditions and the three propositions, each under a title that says what it is about.
std::string theory_text(const Diagnosis& diagnosis, bool with_conditions = true);

// Everything, every step included. What does not apply is null.
Json theory_json(const Diagnosis& diagnosis);

}  // namespace mfl
