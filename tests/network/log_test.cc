#include "mfl/network/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "mfl/network/log_limit.h"
#include "mfl/network/session_log.h"

namespace mfl {
namespace {

using ::testing::EndsWith;
using Fields = std::vector<std::pair<std::string, std::string>>;

std::size_t size_of(const LogLine& line) {
  std::size_t size = line.event.size();
  for (const auto& [key, value] : line.fields) size += key.size() + value.size();
  return size;
}

TEST(Log, LinesAreBoundedAndEscaped) {
  const LogLine plain{LogLine::Level::kInfo, "joined", {{"node", "a"}, {"text", "caf\u00e9 \"x\""}}};
  EXPECT_EQ(bounded(plain).fields, plain.fields);
  const LogLine odd{LogLine::Level::kWarning, "refused", {{"node", "\x1b[31m\r\n"}, {"text", "\xff\x00z"}}};
  EXPECT_EQ(bounded(odd).fields, (Fields{{"node", "\\x1b[31m\\x0d\\x0a"}, {"text", "\\xff"}}));
  const LogLine whole = bounded({LogLine::Level::kWarning, "refused", {{"text", std::string(100'000, 'x')}}});
  EXPECT_THAT(whole.fields[0].second, EndsWith("xxx... (100000 bytes)"));
  EXPECT_LT(size_of(whole), 600U);
}

TEST(Log, FieldsWithoutRoomAreCounted) {
  LogLine many{LogLine::Level::kInfo, "event", {}};
  for (int i = 0; i < 100; ++i) many.fields.emplace_back("key", std::string(1000, '\n'));
  const LogLine kept = bounded(many);
  EXPECT_LT(size_of(kept), 4096U);
  EXPECT_EQ(kept.fields.back(), (std::pair<std::string, std::string>("fields_left_out", "95")));
}

using Time = LogLimit::Time;

TEST(LogLimit, LetsOneLineOfAKindThroughPerSecond) {
  LogLimit limit;
  EXPECT_EQ(limit.pass("a", Time(0)), 0U);
  EXPECT_EQ(limit.pass("a", Time(999)), std::nullopt);
  EXPECT_EQ(limit.pass("b", Time(999)), 0U);
  EXPECT_EQ(limit.pass("a", Time(1000)), 1U);
  EXPECT_EQ(limit.pass("a", Time(2000)), 0U);
  EXPECT_EQ(limit.pass("a", Time(2001), 5), std::nullopt);
  EXPECT_EQ(limit.pass("a", Time(1500)), std::nullopt) << "the clock of another thread may be behind";
  EXPECT_EQ(limit.pass("a", Time(1'000'000)), 6U);
  EXPECT_EQ(limit.pass("a", Time(1'000'001)), std::nullopt) << "no more than a burst is saved";
}

TEST(LogLimit, LetsABurstThroughFirst) {
  LogLimit limit(3);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(limit.pass("a", Time(i)), 0U);
  EXPECT_EQ(limit.pass("a", Time(10)), std::nullopt);
  EXPECT_EQ(limit.pass("a", Time(1500)), 1U);
  EXPECT_EQ(limit.pass("a", Time(1501)), std::nullopt);
}

TEST(LogLimit, RemembersABoundedNumberOfKinds) {
  LogLimit limit;
  std::uint64_t passed = 0, left_out = 0;
  constexpr int kLines = 100'000;
  for (int i = 0; i < kLines; ++i)
    if (const auto others = limit.pass("kind " + std::to_string(i), Time(i / 100))) {
      ++passed;
      left_out += *others;
    }
  EXPECT_LE(limit.kinds(), LogLimit::kMostKinds);
  EXPECT_LE(passed, 2 * LogLimit::kMostKinds) << "within a second";
  EXPECT_TRUE(limit.pass("kind", Time(5000)).has_value());
  EXPECT_EQ(limit.pass("kind", Time(5000)), std::nullopt) << "there is room again for kinds of their own";
  std::string large(1'000'000, 'x');
  EXPECT_EQ(limit.pass(large, Time(6000)), 0U);
  large.back() = 'y';
  EXPECT_EQ(limit.pass(large, Time(6000)), std::nullopt) << "only the beginning of a kind is kept";
}

TEST(SessionLog, OnePeerCannotFillIt) {
  std::map<std::string, int> nodes;
  std::uint64_t written = 0, left_out = 0;
  SessionLog log([&](const LogLine& line) {
    ++written;
    for (const auto& [key, value] : line.fields) {
      if (key == "node") ++nodes[value];
      if (key == "left_out") left_out += std::stoull(value);
    }
  });
  constexpr int kTimes = 10'000;
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kTimes; ++i) {
    log.write(LogLine::Level::kInfo, "joined", {{"node", "hostile"}, {"samples", std::to_string(i)}});
    log.refused("hostile", "submit", static_cast<Reason>(1 + i % (kReasons - 1)), std::to_string(i));
    log.write(LogLine::Level::kInfo, "left", {{"node", "hostile"}});
  }
  log.write(LogLine::Level::kInfo, "joined", {{"node", "honest"}});
  log.write(LogLine::Level::kInfo, "left", {{"node", "honest"}});
  const auto passed =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - start);
  EXPECT_GE(nodes["hostile"], 10);
  EXPECT_LE(nodes["hostile"], 10 + passed.count() + 1) << "ten, and one per second";
  EXPECT_EQ(nodes["honest"], 2);
  for (int i = 0; i < 100; ++i) log.write(LogLine::Level::kInfo, "round", {{"round", std::to_string(i)}});
  EXPECT_EQ(written, static_cast<std::uint64_t>(nodes["hostile"]) + 2 + 100) << "rounds are never left out";
}

}  // namespace
}  // namespace mfl
