// The claims of the paper's Section VII, judged by data alone: another result, another verdict.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mfl/reproduce/evidence.h"

namespace mfl {

enum class ClaimVerdict { kHolds, kHoldsWithLimit, kDoesNotHold, kNotTested };

// "holds", "holds with a limit", "does not hold", "not tested".
std::string_view verdict_text(ClaimVerdict verdict);

struct Claim {
  std::string id;        // stable: "4a-order-mfl-fl-svm"
  std::string figure;    // "4a"
  std::string text;      // what the paper says, in our words
  std::string test;      // how it was tested
  std::string measured;  // the numbers
  ClaimVerdict verdict = ClaimVerdict::kNotTested;
  std::string limit;  // a qualification of the verdict; may be empty
};

// What "flat", "converged" and "the same" mean here. Shares are of the whole drop of the loss, F(w(0)) -
// F(w(T)).
inline constexpr double kSmallShare = 0.01;     // converged: what the last tenth of the steps still brings
inline constexpr double kCrossingShare = 1e-5;  // curves that cross by less than this share are said to touch
inline constexpr double kVisibleShare = 1e-3;   // below it no picture shows a difference
inline constexpr double kSmallAccuracy = 0.005;  // half a point of test accuracy

// In the order of the figures. A claim without runs is not tested.
std::vector<Claim> judge(const Evidence& evidence);

// One sentence about the claims that were not tested, with their figures; empty when all were.
std::string not_tested_text(const std::vector<Claim>& claims);

}  // namespace mfl
