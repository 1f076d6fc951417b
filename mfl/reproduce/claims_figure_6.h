// What tau does.
#pragma once

#include <vector>

#include "mfl/reproduce/claims.h"

namespace mfl {

// The claims about figure 6.
std::vector<Claim> judge_figure_6(const Evidence& evidence);

}  // namespace mfl
