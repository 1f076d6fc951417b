#include "mfl/federation/objections.h"

#include <gtest/gtest.h>

namespace mfl {
namespace {

using Names = std::vector<std::string>;

// A run whose updates have moved the one vector by 1, at a loss of 1.
Objections with_history() { return {{.largest_move = 1e6, .vectors = {"w"}}, {.moves = {1}, .loss = 1}}; }

Membership with_nodes(const Names& names, std::size_t needed = 1) {
  Membership members({.min_available_nodes = needed});
  for (const std::string& node : names) members.join(node, 1, 0);
  return members;
}

TEST(Objections, AnUpdateBeyondTheLimitsDoesNotCountAndIsKeptAsAnObjection) {
  Objections objections = with_history();
  EXPECT_TRUE(objections.check("a", {{2}, 1}).counts());
  EXPECT_FALSE(objections.any());
  EXPECT_EQ(objections.check("b", {{200}, 1}).reason, Reason::kNorm);
  EXPECT_TRUE(objections.has("b"));
  EXPECT_FALSE(objections.has("a"));
  EXPECT_EQ(objections.check_loss(1e9).reason, Reason::kLoss);
}

TEST(Objections, MoreThanHalfOfTheNodesMakeARunDiverge) {
  Objections objections = with_history();
  const Membership members = with_nodes({"a", "b", "c", "d"});
  objections.diverges("a");
  objections.check("b", {{1e7}, 1});  // beyond what the next round can compute with
  EXPECT_FALSE(objections.diverged(members));
  objections.diverges("c");
  EXPECT_TRUE(objections.diverged(members));
}

TEST(Objections, ANodeThatHasLeftDoesNotObjectAndIsStillOneOfAll) {
  Objections objections = with_history();
  for (const char* node : {"a", "b", "c"}) objections.ask(node);
  const Membership members = with_nodes({"a"});
  objections.diverges("a");
  objections.diverges("b");
  objections.forget_the_gone(members);
  EXPECT_FALSE(objections.has("b"));
  EXPECT_FALSE(objections.diverged(members)) << "one of three";
}

TEST(Objections, FewNodesDoNotDecideForAsManyAsARoundNeeds) {
  Objections objections = with_history();
  objections.diverges("a");
  EXPECT_TRUE(objections.diverged(with_nodes({"a"})));
  EXPECT_FALSE(objections.diverged(with_nodes({"a"}, 2)));
}

TEST(Objections, WhatMostNodesSendIsUsualFromThenOn) {
  Objections objections = with_history();
  const Membership members = with_nodes({"a", "b", "c"});
  objections.check("a", {{200}, 1});
  EXPECT_EQ(objections.raise_limits(members), Names{});
  EXPECT_FALSE(objections.check("b", {{200}, 1}).counts());
  EXPECT_EQ(objections.raise_limits(members), (Names{"a", "b"}));
  EXPECT_FALSE(objections.any());
  EXPECT_TRUE(objections.check("a", {{200}, 1}).counts());
}

TEST(Objections, WithoutAHistoryUpdatesAreComparedWithEachOther) {
  Objections objections({.largest_move = 1e6, .vectors = {"w"}}, {});
  for (const char* node : {"a", "b", "c"}) objections.count(node, {{1}, 1});
  EXPECT_EQ(objections.outliers(), Names{});
  objections.count("mallory", {{1e4}, 1});
  EXPECT_EQ(objections.outliers(), Names{"mallory"});
  EXPECT_FALSE(objections.check("mallory", {{1e4}, 1}).counts()) << "the others' sizes are usual now";
}

TEST(Objections, ACommittedRoundIsTheHistoryOfTheNext) {
  Objections objections({.largest_move = 1e6, .vectors = {"w"}}, {});
  objections.count("a", {{3}, 2});
  objections.diverges("b");
  const SizeHistory history = objections.next_history();
  EXPECT_EQ(history, (SizeHistory{{3}, 2}));
  objections.commit(history, {"a"});
  objections.end_attempt();
  EXPECT_FALSE(objections.any());
  EXPECT_FALSE(objections.check("a", {{301}, 2}).counts());
  EXPECT_TRUE(objections.check("a", {{299}, 2}).counts());
}

}  // namespace
}  // namespace mfl
