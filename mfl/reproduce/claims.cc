#include "mfl/reproduce/claims.h"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "mfl/reproduce/claims_figure_4.h"
#include "mfl/reproduce/claims_figure_5.h"
#include "mfl/reproduce/claims_figure_6.h"

namespace mfl {

std::string_view verdict_text(ClaimVerdict verdict) {
  switch (verdict) {
    case ClaimVerdict::kHolds: return "holds";
    case ClaimVerdict::kHoldsWithLimit: return "holds with a limit";
    case ClaimVerdict::kDoesNotHold: return "does not hold";
    case ClaimVerdict::kNotTested: return "not tested";
  }
  return "";
}

std::vector<Claim> judge(const Evidence& evidence) {
  std::vector<Claim> claims;
  for (const auto figure : {judge_figure_4, judge_figure_5, judge_figure_6}) {
    std::vector<Claim> more = figure(evidence);
    std::ranges::move(more, std::back_inserter(claims));
  }
  for (Claim& claim : claims)
    if (!asked_for(evidence, claim.figure)) {
      claim.verdict = ClaimVerdict::kNotTested;
      claim.measured.clear();
      claim.limit.clear();
    }
  return claims;
}

}  // namespace mfl
