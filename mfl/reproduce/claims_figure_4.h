// Convergence, and the order of MGD, MFL and FL.
#pragma once

#include <vector>

#include "mfl/reproduce/claims.h"

namespace mfl {

// The claims about figure 4.
std::vector<Claim> judge_figure_4(const Evidence& evidence);

}  // namespace mfl
