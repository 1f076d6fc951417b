#include "mfl/reproduce/claims.h"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <string>

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

std::string not_tested_text(const std::vector<Claim>& claims) {
  std::size_t count = 0;
  std::set<std::string> figures;
  for (const Claim& claim : claims)
    if (claim.verdict == ClaimVerdict::kNotTested) {
      ++count;
      figures.insert(claim.figure);
    }
  if (count == 0) return {};
  return fmt::format("{} of {} claims {} not tested: {} of {} {}.", count, claims.size(),
                     count == 1 ? "was" : "were", count == 1 ? "that" : "those",
                     figures.size() == 1 ? "figure" : "figures", fmt::join(figures, ", "));
}

}  // namespace mfl
