// What gamma does.
#pragma once

#include <vector>

#include "mfl/reproduce/claims.h"

namespace mfl {

// The claims about figure 5.
std::vector<Claim> judge_figure_5(const Evidence& evidence);

}  // namespace mfl
