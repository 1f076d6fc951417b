#include "mfl/federation/round_answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "mfl/algorithm/algorithms.h"
#include "mfl/base/digest.h"
#include "mfl/federation/payload.h"

namespace mfl {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kColumns = 3;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// The answers to a round of {w} vectors of three numbers that starts at zero.
class AnswersTest : public ::testing::Test {
 protected:
  void begin(Work work) { answers.begin(algorithm.vectors(1), state, work); }
  Update answer(double value, std::uint64_t weight = 1) const {
    Update out;
    out.ticket = {1, 1, 1};
    out.weight = weight;
    out.losses.train_loss = value;
    out.blocks = {{"w", "f64", kColumns}};
    out.payload = to_payload(std::vector<Vector<double>>{Vector<double>(kColumns, value)});
    return out;
  }
  Verdict count(const std::string& node, Update update, std::uint64_t weight = 1) {
    return answers.count(node, weight, std::move(update), state);
  }

  Algorithm algorithm = make_fl(0.1, 2);
  State<double> state = initial_state<double>(algorithm, kColumns);
  CoordinatorOptions options;
  Objections objections{{.largest_move = 1e6, .vectors = {"w"}}, {}};
  RoundAnswers<double> answers{options, objections};
};

TEST_F(AnswersTest, AreWeighedAndListedByNode) {
  begin(Work::kTrain);
  EXPECT_EQ(answers.most_bytes(), kColumns * sizeof(double));
  ASSERT_TRUE(count("b", answer(8)).counts());
  ASSERT_TRUE(count("a", answer(4, 3), 3).counts());
  EXPECT_EQ(answers.losses(), (Losses{.train_loss = 5}));
  ASSERT_EQ(answers.rows().size(), 2U);
  EXPECT_EQ(answers.rows().at("a").weight, 3U);
  EXPECT_EQ(answers.rows().at("b").digest, sha256_hex(answer(8).payload));
  EXPECT_EQ(answers.bytes(), 2 * kColumns * sizeof(double));
  EXPECT_EQ(answers.aggregate(state).vectors.front(), Vector<double>(kColumns, 5));
  answers.clear();
  EXPECT_TRUE(answers.rows().empty());
  EXPECT_EQ(answers.losses(), Losses{});
}

TEST_F(AnswersTest, OfAnotherFormDoNotCount) {
  begin(Work::kTrain);
  EXPECT_EQ(count("a", answer(1), 2).reason, Reason::kWeight);
  Update cut = answer(1);
  cut.payload.pop_back();
  EXPECT_THAT(count("a", cut).text, HasSubstr("23 bytes of vectors, 24 expected"));
  Update other = answer(1);
  other.blocks.front().name = "d";
  EXPECT_THAT(count("a", other).text, HasSubstr("sent d (3 numbers as f64), expected w (3 numbers as f64)"));
  Update more = answer(1);
  more.losses.batch_loss = 1;
  EXPECT_THAT(count("a", more).text, HasSubstr("other losses"));
  EXPECT_TRUE(answers.rows().empty());
  EXPECT_FALSE(objections.any()) << "such an answer says nothing of the State";
}

TEST_F(AnswersTest, ThatAreNotFiniteAreObjections) {
  begin(Work::kTrain);
  EXPECT_EQ(count("a", answer(kNan)).reason, Reason::kNotFinite);
  Update bad = answer(1);
  bad.payload = to_payload(std::vector<Vector<double>>{{1, 1, kNan}});
  EXPECT_EQ(count("b", bad).text, "w[2] is not finite");
  EXPECT_TRUE(objections.has("a"));
  EXPECT_TRUE(objections.has("b"));
  EXPECT_TRUE(answers.rows().empty());
}

TEST_F(AnswersTest, ToAnEvaluationAreLossesAlone) {
  begin(Work::kEvaluate);
  EXPECT_EQ(answers.bytes(), 0U);
  EXPECT_EQ(count("a", answer(1)).reason, Reason::kShape) << "it has vectors";
  Update loss = answer(2);
  loss.blocks.clear();
  loss.payload.clear();
  ASSERT_TRUE(count("a", loss).counts());
  EXPECT_EQ(answers.losses(), (Losses{.train_loss = 2}));
  EXPECT_EQ(answers.rows().at("a").digest, "");
}

TEST_F(AnswersTest, HaveTheLossesThatTheRoundMeasures) {
  options.losses = {.passing = LossRule::Passing::kBatch, .evaluate_every = 2};
  begin(Work::kTrain);
  Update both = answer(1);
  both.losses.batch_loss = 3;
  EXPECT_TRUE(count("a", both).counts()) << "round 0 is evaluated";
  answers.clear();
  state.round = 1;
  begin(Work::kTrain);
  EXPECT_FALSE(count("a", both).counts());
  both.losses.train_loss.reset();
  EXPECT_TRUE(count("a", both).counts());
  EXPECT_EQ(answers.losses(), (Losses{.batch_loss = 3}));
}

}  // namespace
}  // namespace mfl
