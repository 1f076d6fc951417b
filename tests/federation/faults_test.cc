// The coordinator, the participants and the codecs under seeded faults. MFL_FAULT_SEED=N replays one seed;
// MFL_FAULT_SEEDS=N sets their number.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "mfl/algorithm/algorithms.h"
#include "mfl/base/rng.h"
#include "world.h"

namespace mfl::test {
namespace {

constexpr std::uint64_t kSeeds = 10'000;
constexpr std::size_t kFaultNodes = 3;

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// Fault rates vary by seed, from none to severe.
Faults faults_of(std::uint64_t seed) {
  Stream dice(seed, Purpose::kSynthetic, 1);
  const auto often = [&](double most) { return dice.below(3) == 0 ? 0.0 : most * dice.uniform(); };
  Faults faults;
  faults.drop = often(0.3);
  faults.duplicate = often(0.3);
  faults.longest_delay_ms = static_cast<std::int64_t>(1 + dice.below(2'000));
  faults.break_connection = often(0.1);
  faults.node_crash = often(0.1);
  faults.server_crash = often(0.1);
  faults.disk_crash = often(0.5);
  return faults;
}

struct Totals {
  std::uint64_t rounds = 0, restarts = 0, node_crashes = 0, lost_writes = 0, refused = 0, abandoned = 0;
};

void add(Totals& totals, const Outcome& outcome) {
  totals.rounds += outcome.rounds;
  totals.restarts += outcome.restarts;
  totals.node_crashes += outcome.node_crashes;
  totals.lost_writes += outcome.lost_writes;
  totals.refused += outcome.refused;
  totals.abandoned += outcome.abandoned;
}

// Runs the seeds; stops at the first violation and prints how to replay it.
void run_seeds(const char* test, std::size_t quorum) {
  Reference reference(make_mfl(0.1, 0.5, 2), kFaultNodes, 7);
  const std::uint64_t only = from_environment("MFL_FAULT_SEED", 0);
  const std::uint64_t seeds = only != 0 ? only : from_environment("MFL_FAULT_SEEDS", kSeeds) / 2;
  Totals totals;
  for (std::uint64_t seed = only != 0 ? only : 1; seed <= seeds; ++seed) {
    const Outcome outcome = simulate(reference, faults_of(seed), quorum, quorum, seed);
    const std::string replay =
        fmt::format("replay with MFL_FAULT_SEED={} federation_test --gtest_filter=Faults.{}", seed, test);
    ASSERT_EQ(outcome.violation, "") << replay;
    ASSERT_EQ(outcome.rounds, 4U) << replay;
    if (quorum == kFaultNodes) {
      ASSERT_EQ(outcome.digest, reference.final_digest()) << replay;
    }
    add(totals, outcome);
  }
  fmt::print(
      "{} seeds: {} rounds, {} server and {} node crashes, {} writes lost, {} messages refused, {} attempts "
      "abandoned\n",
      seeds, totals.rounds, totals.restarts, totals.node_crashes, totals.lost_writes, totals.refused,
      totals.abandoned);
  if (only != 0) return;
  EXPECT_GT(totals.restarts, seeds / 10);
  EXPECT_GT(totals.node_crashes, seeds / 10);
  EXPECT_GT(totals.lost_writes, seeds / 20);
  EXPECT_GT(totals.refused, seeds / 10);
}

TEST(Faults, AllNodesEveryRoundGiveTheFaultFreeModel) {
  run_seeds("AllNodesEveryRoundGiveTheFaultFreeModel", kFaultNodes);
}

TEST(Faults, AQuorumAlwaysMakesProgress) { run_seeds("AQuorumAlwaysMakesProgress", 2); }

TEST(Faults, WithoutFaultsNothingIsRefused) {
  Reference reference(make_fl(0.1, 2), kFaultNodes, 7);
  const Outcome outcome = simulate(reference, {}, kFaultNodes, 0, 1);
  EXPECT_EQ(outcome.violation, "");
  EXPECT_EQ(outcome.digest, reference.final_digest());
  EXPECT_EQ(outcome.refused + outcome.abandoned + outcome.restarts, 0U);
}

constexpr Hostility kHostilities[] = {Hostility::kHuge,       Hostility::kLarge,      Hostility::kNotFinite,
                                      Hostility::kZeros,      Hostility::kHeavy,      Hostility::kImpossible,
                                      Hostility::kAbsurdLoss, Hostility::kAlternating};
constexpr std::size_t kManyNodes = 5;

// Honest nodes are neither refused nor named, and nothing that the hostile node sends is counted unless it is in bounds.
TEST(Faults, OneHostileNodeStopsNobodyAndIsTheOnlyOneNamed) {
  Reference reference(make_mfl(0.1, 0.5, 2), kManyNodes, 7);
  const std::string hostile = reference.name(kManyNodes - 1);
  for (const Hostility hostility : kHostilities)
    for (const std::size_t quorum : {std::size_t{0}, std::size_t{3}}) {
      SCOPED_TRACE(fmt::format("hostility {}, quorum {}", static_cast<int>(hostility), quorum));
      const Outcome outcome = simulate(reference, {}, kManyNodes - 1, quorum, 1, hostility);
      EXPECT_EQ(outcome.violation, "");
      EXPECT_EQ(outcome.rounds, 4U);
      for (const std::string& node : outcome.failing) EXPECT_EQ(node, hostile);
      const bool in_bounds = hostility == Hostility::kZeros || hostility == Hostility::kAlternating;
      if (!in_bounds) {
        EXPECT_EQ(outcome.hostile_counted, 0U);
      }
    }
}

TEST(Faults, OneHostileNodeUnderFaultsDoesNotStopAQuorum) {
  Reference reference(make_mfl(0.1, 0.5, 2), kManyNodes, 7);
  const std::uint64_t only = from_environment("MFL_FAULT_SEED", 0);
  const std::uint64_t seeds = only != 0 ? only : from_environment("MFL_FAULT_SEEDS", kSeeds);
  Totals totals;
  for (std::uint64_t seed = only != 0 ? only : 1; seed <= seeds; ++seed) {
    const Hostility hostility = kHostilities[seed % std::size(kHostilities)];
    const Outcome outcome = simulate(reference, faults_of(seed), kManyNodes - 1, 3, seed, hostility);
    const std::string replay = fmt::format(
        "replay with MFL_FAULT_SEED={} federation_test "
        "--gtest_filter=Faults.OneHostileNodeUnderFaultsDoesNotStopAQuorum",
        seed);
    ASSERT_EQ(outcome.violation, "") << replay;
    ASSERT_EQ(outcome.rounds, 4U) << replay;
    add(totals, outcome);
  }
  fmt::print("{} seeds with a hostile node: {} rounds, {} messages refused, {} attempts abandoned\n", seeds,
             totals.rounds, totals.refused, totals.abandoned);
}

}  // namespace
}  // namespace mfl::test
