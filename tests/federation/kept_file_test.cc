#include "mfl/federation/kept_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mfl/base/files.h"

namespace mfl {
namespace {

using ::testing::HasSubstr;
using File = KeptFile<float>;

class KeptFileTest : public ::testing::Test {
 protected:
  std::filesystem::path path() const { return folder.path() / "kept"; }
  File open() { return File::open(path(), "run-1", "a").value(); }
  static std::vector<KeptVectors<float>> vectors(float value) {
    return {{0, {{value, value + 1}, {-value}}}};
  }

  TempFolder folder = TempFolder::make().value();
};

void expect_vectors(const Result<std::vector<KeptVectors<float>>>& got, float value) {
  ASSERT_TRUE(got);
  ASSERT_EQ(got->size(), 1U);
  EXPECT_EQ(got->front().vectors, (std::vector<Vector<float>>{{value, value + 1}, {-value}}));
}

// The node is restarted before and after every call.
TEST_F(KeptFileTest, TheServerDecidesWhichVersionCounts) {
  EXPECT_TRUE(open().at(0)->empty());
  {
    File file = open();
    ASSERT_TRUE(file.at(0));
    ASSERT_TRUE(file.propose(1, vectors(1)));
  }
  EXPECT_TRUE(open().at(0)->empty()) << "round 1 did not count it";
  expect_vectors(open().at(1), 1);
  {
    File file = open();
    ASSERT_TRUE(file.at(1));
    ASSERT_TRUE(file.propose(4, vectors(4)));
  }
  expect_vectors(open().at(1), 1);
  expect_vectors(open().at(4), 4);
  {
    File file = open();  // round 4 was abandoned; the node works on it again
    ASSERT_TRUE(file.at(1));
    ASSERT_TRUE(file.propose(4, vectors(5)));
    expect_vectors(file.at(4), 5);
  }
}

// The server dies before the round that it has committed last is durable.
TEST_F(KeptFileTest, AServerMayLoseOneRound) {
  const auto work = [&](std::uint64_t counted, std::uint64_t round, float value) {
    File file = open();
    ASSERT_TRUE(file.at(counted)) << counted;
    ASSERT_TRUE(file.propose(round, vectors(value)));
  };
  work(0, 1, 1);
  work(1, 2, 2);
  EXPECT_TRUE(open().at(0)->empty()) << "round 1 was lost";
  work(2, 3, 3);
  expect_vectors(open().at(1), 1);
  work(1, 2, 4);  // round 2 was lost, and what it gave must not come back
  expect_vectors(open().at(1), 1);
  expect_vectors(open().at(2), 4);
  EXPECT_FALSE(open().at(3));
  work(2, 3, 5);
  work(3, 4, 6);
  EXPECT_FALSE(open().at(1)) << "two rounds are not lost";
}

TEST_F(KeptFileTest, GoesBackAsFarAsTheServerHasStates) {
  constexpr std::size_t kStates = 5;
  constexpr std::uint64_t kRounds = 20;
  const auto reopen = [&] { return File::open(path(), "run-1", "a", kStates).value(); };
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    File file = reopen();
    ASSERT_TRUE(file.at(round - 1));
    ASSERT_TRUE(file.propose(round, vectors(static_cast<float>(round))));
  }
  // The last round is committed, or the server has lost it; both with the States of five rounds.
  for (std::uint64_t round = kRounds - kStates; round <= kRounds; ++round)
    expect_vectors(reopen().at(round), static_cast<float>(round));
  const auto further = reopen().at(kRounds - 10);
  ASSERT_FALSE(further);
  EXPECT_THAT(further.error().text(), HasSubstr("rounds 14 to 20"));
  EXPECT_THAT(std::string(further.error().first_hint()), HasSubstr("--from-round 0"));
  EXPECT_TRUE(reopen().at(0)->empty()) << "the run begins again";
  EXPECT_EQ(std::filesystem::status(path()).permissions(), std::filesystem::perms(0600));
}

TEST_F(KeptFileTest, LostVectorsAreNoticed) {
  File file = open();
  const auto lost = file.at(7);
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, ErrorCode::kRunFailed);
  EXPECT_THAT(lost.error().text(), HasSubstr("counted this node in round 7"));
  ASSERT_TRUE(file.propose(8, vectors(1)));
  EXPECT_FALSE(file.at(7));
}

TEST_F(KeptFileTest, FilesOfOthersAndDamagedOnesAreRefused) {
  File file = open();
  ASSERT_TRUE(file.propose(1, vectors(1)));
  EXPECT_THAT(File::open(path(), "run-2", "a").error().text(), HasSubstr("run-2"));
  EXPECT_THAT(File::open(path(), "run-1", "b").error().text(), HasSubstr("node b"));
  EXPECT_THAT(KeptFile<double>::open(path(), "run-1", "a").error().text(), HasSubstr("f32"));
  std::string bytes = read_file(path()).value();
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string changed = bytes;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    ASSERT_TRUE(write_file(path(), changed));
    EXPECT_FALSE(File::open(path(), "run-1", "a")) << i;
  }
  ASSERT_TRUE(write_file(path(), bytes.substr(0, bytes.size() / 2)));
  EXPECT_EQ(File::open(path(), "run-1", "a").error().code, ErrorCode::kBadData);
}

}  // namespace
}  // namespace mfl
