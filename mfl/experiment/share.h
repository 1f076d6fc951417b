// The part of an experiment's data that one of several processes works on.
#pragma once

#include "mfl/base/result.h"
#include "mfl/engine/ranks.h"
#include "mfl/experiment/config.h"
#include "mfl/experiment/problem.h"

namespace mfl {

// As load_problem, shared by the ranks: each gets the rows of its own nodes, which are spread by their samples, and its
// row blocks of the test set. Labels and who holds what are known to all. The digests are those of load_problem: the
// first rank reads all rows once for them, few at a time. All ranks fail, or none.
template <class T>
Result<Problem<T>> load_share(const Config& config, Ranks& ranks);

}  // namespace mfl
