#include "mfl/federation/preparation.h"

#include <gtest/gtest.h>

#include <cstring>

namespace mfl {
namespace {

constexpr std::uint64_t kPreparedColumns = 2;

Schema schema() {
  Schema out;
  out.columns = kPreparedColumns;
  out.task = LabelTask::kBinary;
  out.classes = {"no", "yes"};
  out.positive = "yes";
  return out;
}

Dataset rows(std::vector<double> values) {
  Dataset out;
  out.rows = values.size() / kPreparedColumns;
  out.columns = kPreparedColumns;
  out.features = DenseRows<double>{std::move(values)};
  return out;
}

const std::vector<double> kFirst = {1, 10, 2, 20, 3, 35}, kSecond = {4, 1, 9, 2};

Update sums_update(const std::vector<double>& values) {
  ColumnSums sums(kPreparedColumns, 0);
  EXPECT_TRUE(sums.add(rows(values), {}));
  Update out;
  out.weight = values.size() / kPreparedColumns;
  out.payload = sums.pack();
  out.blocks = {{"sums", kSumsEncoding, out.payload.size()}};
  return out;
}

Update smoothness_update(double smoothness, std::uint64_t weight) {
  Update out;
  out.weight = weight;
  out.payload.assign(reinterpret_cast<const char*>(&smoothness), sizeof smoothness);
  out.blocks = {{kSmoothness, "f64", 1}};
  return out;
}

double half(double smoothness) { return smoothness / 2; }

PreparationNeeds all_needs() {
  return {.intercept = true, .standardise = Standardise::kFull, .class_weights = false, .step_size = true};
}

Preprocessing pooled() {
  std::vector<double> all = kFirst;
  all.insert(all.end(), kSecond.begin(), kSecond.end());
  ColumnSums sums(kPreparedColumns, 0);
  EXPECT_TRUE(sums.add(rows(all), {}));
  Preprocessing out;
  out.standardise = Standardise::kFull;
  sums.measure(out);
  return out;
}

TEST(Preparation, SettlesTheMeansOfPooledRowsAndTheStepOfTheLeastSmoothNode) {
  Preparation preparation(all_needs(), schema(), half);
  preparation.join("b", 2);
  preparation.join("a", 3);
  EXPECT_EQ(preparation.task().work, Work::kMeasure);
  EXPECT_TRUE(preparation.submit("b", sums_update(kSecond)).counts());
  EXPECT_FALSE(preparation.advance().value());
  EXPECT_EQ(preparation.task().work, Work::kMeasure);
  EXPECT_TRUE(preparation.submit("a", sums_update(kFirst)).counts());
  EXPECT_FALSE(preparation.advance().value());
  EXPECT_EQ(preparation.task().work, Work::kPrepare);
  Preprocessing told;
  ASSERT_TRUE(decode_preprocessing(*preparation.task().payload, preparation.task().blocks, told));
  EXPECT_EQ(told.means, pooled().means);
  EXPECT_EQ(told.deviations, pooled().deviations);
  EXPECT_TRUE(preparation.submit("a", smoothness_update(3, 3)).counts());
  EXPECT_TRUE(preparation.submit("b", smoothness_update(8, 2)).counts());
  EXPECT_TRUE(preparation.advance().value());
  EXPECT_EQ(preparation.result().eta, 4);
  EXPECT_TRUE(preparation.ready("a"));
}

TEST(Preparation, NodesThatLeaveEarlyAreNotInTheMeans) {
  Preparation preparation(all_needs(), schema(), half);
  for (const char* node : {"a", "b", "gone"}) preparation.join(node, node[0] == 'a' ? 3 : 2);
  EXPECT_TRUE(preparation.submit("a", sums_update(kFirst)).counts());
  EXPECT_TRUE(preparation.submit("b", sums_update(kSecond)).counts());
  EXPECT_TRUE(preparation.submit("gone", sums_update({1e6, 1e6, 2e6, 3e6})).counts());
  EXPECT_FALSE(preparation.advance().value());
  const std::uint64_t stage = preparation.stage();
  EXPECT_TRUE(preparation.submit("a", smoothness_update(3, 3)).counts());
  preparation.leave("gone");
  EXPECT_GT(preparation.stage(), stage);
  EXPECT_FALSE(preparation.advance().value());  // the sums of the others are still here
  EXPECT_EQ(preparation.task().work, Work::kPrepare);
  EXPECT_FALSE(preparation.answered("a"));  // what it was told has changed
  EXPECT_TRUE(preparation.submit("a", smoothness_update(3, 3)).counts());
  EXPECT_TRUE(preparation.submit("b", smoothness_update(1, 2)).counts());
  EXPECT_TRUE(preparation.advance().value());
  EXPECT_EQ(preparation.result().preprocessing.means, pooled().means);
  EXPECT_EQ(preparation.result().eta, 1.5);
}

TEST(Preparation, LateNodesReceiveWhatWasMeasured) {
  Prepared settled{pooled(), 0.25, {}};
  Preparation preparation(schema(), settled);
  EXPECT_TRUE(preparation.settled());
  preparation.join("late", 4);
  EXPECT_FALSE(preparation.ready("late"));
  EXPECT_EQ(preparation.task().work, Work::kPrepare);
  EXPECT_TRUE(preparation.submit("late", smoothness_update(100, 4)).counts());
  EXPECT_TRUE(preparation.ready("late"));
  EXPECT_EQ(preparation.result().eta, 0.25);
  EXPECT_FALSE(preparation.advance().value());
}

TEST(Preparation, AnswersOfAnotherKindAreRefused) {
  Preparation preparation(all_needs(), schema(), half);
  preparation.join("a", 3);
  EXPECT_EQ(preparation.submit("nobody", sums_update(kFirst)).reason, Reason::kForeign);
  EXPECT_EQ(preparation.submit("a", sums_update(kSecond)).reason, Reason::kWeight);
  Update lying = sums_update(kSecond);
  lying.weight = 3;
  EXPECT_EQ(preparation.submit("a", lying).reason, Reason::kWeight);
  Update cut = sums_update(kFirst);
  cut.payload.pop_back();
  cut.blocks[0].numbers = cut.payload.size();
  EXPECT_EQ(preparation.submit("a", cut).reason, Reason::kShape);
  EXPECT_EQ(preparation.submit("a", smoothness_update(1, 3)).reason, Reason::kShape);
  EXPECT_TRUE(preparation.submit("a", sums_update(kFirst)).counts());
  EXPECT_FALSE(preparation.advance().value());
  EXPECT_EQ(preparation.submit("a", smoothness_update(-1, 3)).reason, Reason::kNotFinite);
  EXPECT_EQ(preparation.submit("a", sums_update(kFirst)).reason, Reason::kShape);
}

Update weights_update(const std::string& bytes, std::uint64_t samples) {
  Update update;
  update.weight = samples;
  update.blocks = {{"w", "f32", bytes.size() / sizeof(float)}};
  update.payload = bytes;
  return update;
}

TEST(Preparation, AModelOfTrainersStartsWhereTheFirstNodeByNameSays) {
  Schema schema;
  schema.columns = 2;
  Preparation preparation({.initial_weights = sizeof(float)}, schema, nullptr);
  preparation.join("b", 3);
  preparation.join("a", 4);
  EXPECT_EQ(preparation.task().work, Work::kInitialise);
  EXPECT_EQ(preparation.submit("b", weights_update("123456789012", 3)).reason, Reason::kShape);
  EXPECT_EQ(preparation.submit("b", weights_update("bbbbbbbb", 4)).reason, Reason::kWeight);
  EXPECT_TRUE(preparation.submit("b", weights_update("bbbbbbbb", 3)).counts());
  EXPECT_FALSE(preparation.advance().value());
  EXPECT_TRUE(preparation.submit("a", weights_update("aaaaaaaa", 4)).counts());
  EXPECT_TRUE(preparation.advance().value());
  EXPECT_EQ(preparation.result().initial_weights, "aaaaaaaa");
  EXPECT_TRUE(preparation.result().differ);
  preparation.join("late", 1);
  EXPECT_TRUE(preparation.ready("late"));
}

TEST(Preparation, BadPayloadsAreRefused) {
  std::vector<Block> blocks;
  const std::string payload = encode_preprocessing(pooled(), blocks);
  Preprocessing to;
  EXPECT_TRUE(decode_preprocessing(payload, blocks, to));
  EXPECT_FALSE(decode_preprocessing(payload.substr(8), blocks, to));
  EXPECT_FALSE(decode_preprocessing(payload + "12345678", blocks, to));
  blocks[0].numbers = std::uint64_t{1} << 62U;
  EXPECT_FALSE(decode_preprocessing(payload, blocks, to));
  blocks[0] = {"means", "bf16", 2};
  EXPECT_FALSE(decode_preprocessing(payload, blocks, to));
}

}  // namespace
}  // namespace mfl
