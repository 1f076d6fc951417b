// How long the rounds of a run are, where a budget or an adaptive tau decides: asked once per round, of
// whoever knows what rounds cost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "mfl/algorithm/estimating.h"
#include "mfl/base/result.h"
#include "mfl/record/run.h"

namespace mfl {

// What was decided about a round. Part of what the log keeps of a State: it is that of the round that led to
// it.
struct RoundTerms {
  std::uint64_t steps = 0;                 // 0: there is no such round
  std::optional<RoundChoice> choice = {};  // absent unless tau is adaptive
  std::optional<RoundTime> time = {};      // absent without virtual time
  std::string end = {};                    // where steps is 0 before the last step of the run: why

  bool operator==(const RoundTerms&) const = default;
};

// A federation between two rounds.
struct BetweenRounds {
  std::uint64_t round = 0, step = 0;        // of the State
  std::uint64_t bytes = 0;                  // up and down, of committed rounds
  std::size_t parameters = 0;               // of w
  std::vector<std::uint64_t> samples = {};  // of the nodes that may be chosen, in the order of their names
  std::optional<RoundEstimates> estimates = {};  // of the State, where the algorithm makes them
  std::optional<RoundTime> time = {};            // of the round that led to the State
};

// An error ends the process that serves the run. Empty: rounds are as long as the algorithm says.
using RoundPolicy = std::function<Result<RoundTerms>(const BetweenRounds&)>;

}  // namespace mfl
