#include "mfl/reproduce/claims.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "made_evidence.h"

namespace mfl::test {
namespace {

using ::testing::HasSubstr;

Claim claim(const Evidence& evidence, const std::string& id) {
  for (Claim& one : judge(evidence))
    if (one.id == id) return one;
  ADD_FAILURE() << "no claim " << id;
  return {};
}

using Change = std::function<void(RunEvidence&)>;

Evidence changed(const RunQuery& query, const Change& change) {
  Evidence evidence = made_evidence();
  for (RunEvidence& run : evidence.runs) {
    const Evidence one{0.5, 4, 1000, 60000, {run}, {}};
    if (!select(one, query).empty()) change(run);
  }
  return evidence;
}

void add_to_losses(RunEvidence& run, double amount, std::uint64_t from = 1) {
  for (RoundEvidence& round : run.rounds)
    if (round.step >= from) round.loss += amount;
  run.final_loss += amount;
}

TEST(Claims, OnThePapersDataEveryOneHolds) {
  const auto claims = judge(made_evidence());
  std::set<std::string> ids;
  for (const Claim& one : claims) {
    EXPECT_EQ(one.verdict, ClaimVerdict::kHolds) << one.id << ": " << one.measured << " " << one.limit;
    EXPECT_FALSE(one.text.empty() || one.test.empty() || one.measured.empty()) << one.id;
    EXPECT_TRUE(ids.insert(one.id).second) << one.id;
  }
  EXPECT_GE(claims.size(), 12U);
}

TEST(Claims, WithoutRunsNothingIsTested) {
  for (const Claim& one : judge({0.5, 4, 1000, 0, {}, {}}))
    EXPECT_EQ(one.verdict, ClaimVerdict::kNotTested) << one.id;
  Evidence no_long = made_evidence();
  no_long.long_steps = 0;
  EXPECT_EQ(claim(no_long, "6-long-rises-beyond-100").verdict, ClaimVerdict::kNotTested);
  EXPECT_EQ(claim(no_long, "6-flat-mfl").verdict, ClaimVerdict::kHolds);
}

TEST(Claims, OnlyRequestedClaimsAreTested) {
  Evidence evidence = made_evidence();
  evidence.figures = {"4c", "6"};
  for (const Claim& one : judge(evidence))
    EXPECT_EQ(one.verdict == ClaimVerdict::kHolds, one.figure == "4c" || one.figure == "6") << one.id;
}

TEST(Claims, BadDataTurnsEachVerdict) {
  const RunQuery mfl{"svm", "mfl", 0.5, 4, 1000}, fl{"svm", "fl", {}, 4, 1000}, mgd{"svm", "mgd"};
  const auto slower = [](RunEvidence& run) {
    run = made_run(run.model, run.algorithm, run.gamma, run.tau, run.seed, 0.0001);
  };
  const auto diverge = [](RunEvidence& run) { run.diverged = true; };
  const auto raise = [](double amount) { return [amount](RunEvidence& run) { add_to_losses(run, amount); }; };
  const struct {
    std::string id;
    RunQuery query;
    Change change;
    ClaimVerdict verdict;
  } table[] = {
      {"4a-converges-svm", mfl, diverge, ClaimVerdict::kDoesNotHold},
      {"4a-converges-svm", fl, slower, ClaimVerdict::kHoldsWithLimit},
      {"4a-converges-svm", fl, [](RunEvidence& run) { run.final_loss = 0.6; }, ClaimVerdict::kDoesNotHold},
      {"4b-accuracy-converges-svm", fl, [](RunEvidence& run) { run.accuracy.back().accuracy += 0.01; },
       ClaimVerdict::kHoldsWithLimit},
      {"4b-accuracy-converges-svm", fl, [](RunEvidence& run) { run.accuracy.back().accuracy = 0.4; },
       ClaimVerdict::kDoesNotHold},
      {"4a-order-mfl-fl-svm", mfl, raise(0.2), ClaimVerdict::kDoesNotHold},
      {"4a-order-mfl-fl-svm", fl, diverge, ClaimVerdict::kDoesNotHold},
      {"4a-order-mgd-mfl-svm", mgd, raise(0.01), ClaimVerdict::kDoesNotHold},
      {"4a-order-mgd-mfl-svm", mgd, [](RunEvidence& run) { add_to_losses(run, 3e-7, 900); },
       ClaimVerdict::kHoldsWithLimit},
      {"4a-speed-svm", mfl, slower, ClaimVerdict::kDoesNotHold},
      {"4c-order-mfl-fl-linear", {"linear", "mfl"}, raise(0.2), ClaimVerdict::kDoesNotHold},
      {"4d-converges-logistic", {"logistic", "mgd"}, slower, ClaimVerdict::kHoldsWithLimit},
      {"5a-gamma-0-is-fl",
       {"svm", "mfl", 0.0},
       [](RunEvidence& run) { run.digest = "x"; },
       ClaimVerdict::kHoldsWithLimit},
      {"5a-gamma-0-is-fl", {"svm", "mfl", 0.0}, raise(0.01), ClaimVerdict::kDoesNotHold},
      {"5a-faster-with-gamma", {"svm", "mfl", 0.9}, slower, ClaimVerdict::kDoesNotHold},
      {"5b-accuracy-with-gamma", {"svm", "mfl", 0.7}, slower, ClaimVerdict::kDoesNotHold},
      {"5c-below-fl", {"svm", "mfl", 0.99}, raise(0.2), ClaimVerdict::kDoesNotHold},
      {"5c-below-fl", {"svm", "mfl", 0.99}, diverge, ClaimVerdict::kDoesNotHold},
      {"5c-falls-to-0.95", {"svm", "mfl", 0.95}, raise(1e-4), ClaimVerdict::kHoldsWithLimit},
      {"5c-falls-to-0.95", {"svm", "mfl", 0.7}, raise(0.01), ClaimVerdict::kDoesNotHold},
      {"5c-best-gamma", {"svm", "mfl", 0.5, 4}, raise(-0.1), ClaimVerdict::kDoesNotHold},
      {"5c-rises-near-1", {"svm", "mfl", 0.99}, raise(-0.0035), ClaimVerdict::kHoldsWithLimit},
      {"5c-rises-near-1", {"svm", "mfl", 0.99}, raise(-0.01), ClaimVerdict::kDoesNotHold},
      {"6-mfl-below-fl", {"svm", "mfl", 0.5, 100, 1000}, raise(0.2), ClaimVerdict::kDoesNotHold},
      {"6-flat-fl", {"svm", "fl", {}, 100}, raise(0.005), ClaimVerdict::kHoldsWithLimit},
      {"6-flat-mfl", {"svm", "mfl", 0.5, 1000, 1000}, raise(0.05), ClaimVerdict::kDoesNotHold},
      {"6-long-flat-to-100", {"svm", "mfl", 0.5, 100, 60000}, raise(0.05), ClaimVerdict::kDoesNotHold},
      {"6-long-rises-beyond-100",
       {"svm", "mfl", 0.5, 3000, 60000},
       raise(-0.008),
       ClaimVerdict::kHoldsWithLimit},
      {"6-long-rises-beyond-100", {"svm", "mfl", 0.5, 3000, 60000}, raise(-0.05), ClaimVerdict::kDoesNotHold},
  };
  for (const auto& row : table) {
    const Claim judged = claim(changed(row.query, row.change), row.id);
    EXPECT_EQ(judged.verdict, row.verdict) << row.id << ": " << judged.measured << " " << judged.limit;
  }
}

TEST(Claims, OneBadSeedIsEnough) {
  RunQuery query{"svm", "mfl", 0.5, 4, 1000};
  query.seed = 2;
  const Evidence evidence = changed(query, [](RunEvidence& run) { add_to_losses(run, 0.2); });
  EXPECT_EQ(claim(evidence, "4a-order-mfl-fl-svm").verdict, ClaimVerdict::kDoesNotHold);
}

TEST(Claims, ACrossingIsSaidWithItsSize) {
  const Evidence evidence = changed({"svm", "mgd"}, [](RunEvidence& run) { add_to_losses(run, 1e-7, 900); });
  const Claim judged = claim(evidence, "4a-order-mgd-mfl-svm");
  EXPECT_EQ(judged.verdict, ClaimVerdict::kHoldsWithLimit);
  EXPECT_THAT(judged.measured, HasSubstr("not so at "));
  EXPECT_THAT(judged.measured, HasSubstr("e-0"));
  EXPECT_THAT(judged.limit, HasSubstr("kinks"));
}

}  // namespace
}  // namespace mfl::test
