#include "mfl/federation/participant.h"

#include <gtest/gtest.h>

namespace mfl {
namespace {

using Next = Participant::Next;

Order task(std::uint64_t round, std::uint64_t attempt, const std::string& state) {
  return {Order::Kind::kTask,
          {"run", {1, round, attempt}, 4, state, {}, 0, std::make_shared<const std::string>("12345678")},
          {},
          {}};
}

TEST(Participant, JoinsTrainsSubmitsAndWaits) {
  Participant node(3);
  EXPECT_EQ(node.next(), Next::kJoin);
  node.joined();
  EXPECT_EQ(node.next(), Next::kWait);
  node.ordered(task(1, 1, "a"));
  EXPECT_EQ(node.next(), Next::kTrain);
  node.trained({.train_loss = 0.5}, {{"w", "f32", 2}}, "abcdefgh");
  EXPECT_EQ(node.next(), Next::kSubmit);
  const Update update = node.update();
  EXPECT_EQ(update.weight, 3U);
  EXPECT_EQ(update.losses.train_loss, 0.5);
  EXPECT_EQ(update.payload, "abcdefgh");
  EXPECT_EQ(update.ticket, (Ticket{1, 1, 1}));
  node.judged({});
  EXPECT_EQ(node.next(), Next::kWait);
  node.ordered({Order::Kind::kDone, {}, "done", "d"});
  EXPECT_EQ(node.next(), Next::kStop);
  EXPECT_EQ(node.ending()->digest, "d");
}

TEST(Participant, SendsWhatItHasWhenTheSameWorkIsAskedForAgain) {
  Participant node(3);
  node.joined();
  node.ordered(task(1, 1, "a"));
  node.trained({.train_loss = 0.5}, {{"w", "f32", 2}}, "abcdefgh");
  node.judged({});
  node.lost();
  EXPECT_EQ(node.next(), Next::kJoin);
  node.joined();
  node.ordered(task(1, 2, "a"));
  EXPECT_EQ(node.next(), Next::kSubmit);
  EXPECT_EQ(node.update().ticket.attempt, 2U);
  node.judged({});
  node.ordered(task(2, 3, "b"));
  EXPECT_EQ(node.next(), Next::kTrain);
}

TEST(Participant, StopsOnlyForPermanentErrors) {
  for (int r = 1; r < kReasons; ++r) {
    const auto reason = static_cast<Reason>(r);
    Participant node(3);
    node.joined();
    node.ordered(task(1, 1, "a"));
    node.trained({.train_loss = 0.5}, {{"w", "f32", 2}}, "abcdefgh");
    node.judged({reason, "text"});
    const bool fatal = reason == Reason::kProtocol || reason == Reason::kConfig || reason == Reason::kShape ||
                       reason == Reason::kWeight || reason == Reason::kSchema || reason == Reason::kOutlier;
    EXPECT_EQ(node.next() == Next::kStop, fatal) << reason_name(reason);
    EXPECT_EQ(node.next() == Next::kJoin, reason == Reason::kForeign) << reason_name(reason);
    // Measuring again would not change what is not finite.
    Participant measuring(3);
    measuring.joined();
    Order order = task(0, 1, "a");
    order.task.work = Work::kMeasure;
    measuring.ordered(order);
    measuring.trained({}, {{"smoothness", "f64", 1}}, "abcdefgh");
    measuring.judged({reason, "text"});
    EXPECT_EQ(measuring.next() == Next::kStop, fatal || reason == Reason::kNotFinite) << reason_name(reason);
  }
}

}  // namespace
}  // namespace mfl
