#include "mfl/federation/membership.h"

#include <gtest/gtest.h>

namespace mfl {
namespace {

using Names = std::vector<std::string>;

constexpr auto kAll = [](const std::string&) { return true; };

Membership with_nodes(const MembershipOptions& options, const Names& names) {
  Membership members(options);
  for (const std::string& node : names) members.join(node, 1, 0);
  return members;
}

void set_aside(Membership& members, const std::string& node) {
  while (!members.quarantine().fail(Time(0), node, "broken")) {
  }
}

TEST(Membership, ALaterSessionOfANodeEndsTheEarlierOne) {
  Membership members({});
  const Entrance first = members.join("a", 3, 0);
  EXPECT_FALSE(first.again);
  EXPECT_TRUE(members.is_current("a", first.session));
  const Entrance second = members.join("a", 4, 0);
  EXPECT_TRUE(second.again);
  EXPECT_FALSE(second.displaced);
  EXPECT_FALSE(members.is_current("a", first.session));
  EXPECT_EQ(members.list().at("a").weight, 4U);
  EXPECT_FALSE(members.end("a", first.session)) << "the node is still connected";
  EXPECT_TRUE(members.end("a", second.session));
  EXPECT_FALSE(members.end("b", second.session));
}

TEST(Membership, OnlyTheSessionThatAnotherProcessHasEndedIsToldWhy) {
  Membership members({});
  const Entrance first = members.join("a", 1, 10);
  const Entrance same = members.join("a", 1, 10);
  EXPECT_EQ(members.ending_of("a", first.session), "");
  const Entrance other = members.join("a", 1, 11);
  EXPECT_FALSE(same.displaced);
  EXPECT_TRUE(other.displaced);
  EXPECT_NE(members.ending_of("a", same.session).find("another process joined as a"), std::string::npos);
  members.end("a", same.session);
  EXPECT_EQ(members.ending_of("a", same.session), "") << "its end was noticed";
}

TEST(Membership, AnExcludedNodeIsNoMemberAndLowersWhatARoundNeeds) {
  Membership members = with_nodes({.nodes = 4, .min_available_nodes = 4}, {"a", "b", "c", "d"});
  EXPECT_EQ(members.needed(), 4U);
  members.exclude("b", "unlike the others");
  EXPECT_EQ(members.names(), (Names{"a", "c", "d"}));
  EXPECT_EQ(members.needed(), 3U);
  EXPECT_EQ(members.check_excluded("b").reason, Reason::kOutlier);
  EXPECT_EQ(members.check_excluded("b").text, "excluded from this run: unlike the others");
  EXPECT_TRUE(members.check_excluded("a").counts());
  EXPECT_EQ(members.excluded().at("b"), "unlike the others");
}

TEST(Membership, ARoundNeedsTheQuorumAndOneNodeAtLeast) {
  EXPECT_EQ(Membership({.min_available_nodes = 2, .quorum = 3}).needed(), 3U);
  EXPECT_EQ(Membership({.nodes = 2, .min_available_nodes = 2, .excluded = {{"a", ""}, {"b", ""}}}).needed(),
            1U);
  Membership members({.min_available_nodes = 2});
  members.set_min_available_nodes(5);
  EXPECT_EQ(members.needed(), 5U);
}

TEST(Membership, NodesThatAreSetAsideAreLeftOutWhileTheOthersSuffice) {
  Membership members = with_nodes({.min_available_nodes = 3}, {"a", "b", "c", "d"});
  set_aside(members, "b");
  EXPECT_EQ(members.available(Time(0), kAll), (Names{"a", "c", "d"}));
  EXPECT_EQ(members.left_out(), Names{"b"});
  set_aside(members, "c");
  EXPECT_EQ(members.available(Time(0), kAll), (Names{"a", "d"})) << "two are more than half of three";
  set_aside(members, "d");
  EXPECT_EQ(members.available(Time(0), kAll), (Names{"a", "b", "c", "d"})) << "one is not";
  EXPECT_TRUE(members.left_out().empty());
}

TEST(Membership, TheQuorumIsNotMetWithFewerBecauseNodesAreSetAside) {
  Membership members = with_nodes({.min_available_nodes = 3, .quorum = 3}, {"a", "b", "c"});
  set_aside(members, "a");
  EXPECT_EQ(members.available(Time(0), kAll).size(), 3U);
}

TEST(Membership, NodesThatAreNotReadyAreNotAvailable) {
  Membership members = with_nodes({}, {"a", "b", "c"});
  EXPECT_EQ(members.available(Time(0), [](const std::string& node) { return node != "b"; }),
            (Names{"a", "c"}));
}

}  // namespace
}  // namespace mfl
