#include "mfl/federation/preparation.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

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
  ASSERT_TRUE(decode_preprocessing(*preparation.task().payload, preparation.task().blocks, schema(), told));
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
  EXPECT_TRUE(preparation.submit("gone", sums_update({5, 9, 8, 3})).counts());
  EXPECT_FALSE(preparation.advance().value());
  EXPECT_EQ(preparation.stage(), 1U);
  const std::uint64_t attempt = preparation.attempt();
  EXPECT_TRUE(preparation.submit("a", smoothness_update(3, 3)).counts());
  preparation.leave("gone");
  EXPECT_GT(preparation.attempt(), attempt);
  EXPECT_EQ(preparation.stage(), 0U);
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
  Preparation preparation({.step_size = true, .known_means = true}, schema(), half, OnOutlier::kRefuse,
                          settled);
  EXPECT_TRUE(preparation.settled());
  preparation.join("late", 4);
  EXPECT_FALSE(preparation.ready("late"));
  EXPECT_EQ(preparation.task().work, Work::kPrepare);
  EXPECT_TRUE(preparation.submit("late", smoothness_update(8, 4)).counts());
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
  EXPECT_EQ(preparation.submit("b", weights_update("99999999", 4)).reason, Reason::kWeight);
  EXPECT_TRUE(preparation.submit("b", weights_update("99999999", 3)).counts());
  EXPECT_FALSE(preparation.advance().value());
  EXPECT_TRUE(preparation.submit("a", weights_update("88888888", 4)).counts());
  EXPECT_TRUE(preparation.advance().value());
  EXPECT_EQ(preparation.result().initial_weights, "88888888");
  EXPECT_TRUE(preparation.result().differ);
  preparation.join("late", 1);
  EXPECT_TRUE(preparation.ready("late"));
}

TEST(Preparation, BadPayloadsAreRefused) {
  std::vector<Block> blocks;
  const std::string payload = encode_preprocessing(pooled(), blocks);
  Preprocessing to;
  EXPECT_TRUE(decode_preprocessing(payload, blocks, schema(), to));
  EXPECT_FALSE(decode_preprocessing(payload.substr(8), blocks, schema(), to));
  EXPECT_FALSE(decode_preprocessing(payload + "12345678", blocks, schema(), to));
  blocks[0].numbers = std::uint64_t{1} << 62U;
  EXPECT_FALSE(decode_preprocessing(payload, blocks, schema(), to));
  blocks[0] = {"means", "bf16", 2};
  EXPECT_FALSE(decode_preprocessing(payload, blocks, schema(), to));
}

// What is indexed by column or class later must have one number for each.
TEST(Preparation, WhatAServerSendsFitsTheSchema) {
  struct Part {
    std::string name;
    std::vector<double> numbers;
  };
  const auto decode = [](const std::vector<Part>& parts) {
    std::string payload;
    std::vector<Block> blocks;
    for (const Part& part : parts) {
      blocks.push_back({part.name, "f64", part.numbers.size()});
      payload.append(reinterpret_cast<const char*>(part.numbers.data()),
                     part.numbers.size() * sizeof(double));
    }
    Preprocessing to;
    return decode_preprocessing(payload, blocks, schema(), to).has_value();
  };
  const Part means{"means", {-1, 0}}, deviations{"deviations", {1, 2}}, weights{"class_weights", {5, 1}};
  EXPECT_TRUE(decode({means, deviations, weights, {"columns", {2}}}));
  EXPECT_TRUE(decode({deviations}));
  EXPECT_TRUE(decode({{"columns", {2}}}));
  const double inf = std::numeric_limits<double>::infinity();
  for (const std::vector<Part>& bad : {std::vector<Part>{{"class_weights", {5}}},
                                       {{"class_weights", {5, 1, 1}}},
                                       {{"class_weights", {5, 0}}},
                                       {{"deviations", {1}}},
                                       {{"deviations", {1, 2, 3}}},
                                       {{"deviations", {1, 0}}},
                                       {{"deviations", {1, -1}}},
                                       {means},
                                       {{"means", {1, inf}}, deviations},
                                       {deviations, deviations},
                                       {means, deviations, means},
                                       {{"columns", {3}}},
                                       {{"columns", {2, 2}}},
                                       {{"other", {1}}},
                                       {{"", {1}}}})
    EXPECT_FALSE(decode(bad)) << bad.front().name << ' ' << bad.front().numbers.size();
}

// Sums that are `factor` times those of kFirst, all or the squares alone.
Update scaled(double factor, bool squares_only, std::uint64_t times = 1) {
  ExactMean sums(3 * kPreparedColumns);
  for (std::size_t row = 0; row < 3; ++row) {
    std::vector<double> moments;
    for (std::size_t j = 0; j < kPreparedColumns; ++j)
      moments.push_back((squares_only ? 1 : factor) * kFirst[row * kPreparedColumns + j]);
    for (std::size_t j = 0; j < kPreparedColumns; ++j)
      moments.push_back(factor * kFirst[row * kPreparedColumns + j] * kFirst[row * kPreparedColumns + j]);
    moments.resize(3 * kPreparedColumns);
    sums.add(moments, times);
  }
  std::vector<std::uint32_t> buffer;
  const auto words = sums.pack(0, sums.size(), buffer);
  Update out;
  out.weight = 3;
  const std::uint64_t rows = 3;
  out.payload.append(reinterpret_cast<const char*>(&rows), sizeof rows);
  out.payload.append(reinterpret_cast<const char*>(words.data()), words.size_bytes());
  out.blocks = {{"sums", kSumsEncoding, out.payload.size()}};
  return out;
}

TEST(Preparation, SumsThatNoDataHasAreRefused) {
  Preparation preparation(all_needs(), schema(), half);
  preparation.join("a", 3);
  for (const auto& [factor, squares_only] :
       {std::pair{0.5, true}, {-1.0, true}, {0.0, true}, {1e300, false}}) {
    const Verdict verdict = preparation.submit("a", scaled(factor, squares_only));
    EXPECT_EQ(verdict.reason, Reason::kOutlier) << factor;
    EXPECT_NE(verdict.text.find("column"), std::string::npos);
  }
  // Digits far beyond the largest double: the mean is infinite.
  EXPECT_EQ(preparation.submit("a", scaled(1e300, false, std::uint64_t{1} << 31U)).reason, Reason::kOutlier);
  EXPECT_TRUE(preparation.submit("a", scaled(1, false)).counts());
}

TEST(Preparation, InitialWeightsThatAreNotFiniteAreRefusedWithTheirNode) {
  Schema external;
  external.columns = 2;
  Preparation preparation({.initial_weights = sizeof(float)}, external, nullptr);
  preparation.join("a", 4);
  const auto weights = [](float first) {
    const float w[] = {first, 1};
    return std::string(reinterpret_cast<const char*>(w), sizeof w);
  };
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()})
    EXPECT_EQ(preparation.submit("a", weights_update(weights(bad), 4)).reason, Reason::kNotFinite);
  EXPECT_TRUE(preparation.submit("a", weights_update(weights(3e38F), 4)).counts());
  for (const char* node : {"b", "c"}) {
    preparation.join(node, 4);
    EXPECT_TRUE(preparation.submit(node, weights_update(weights(0.5F), 4)).counts());
  }
  EXPECT_FALSE(preparation.advance().value());
  ASSERT_EQ(preparation.outliers().size(), 1U);
  EXPECT_EQ(preparation.outliers()[0].node, "a");
  preparation.leave("a");
  EXPECT_TRUE(preparation.advance().value());
  EXPECT_EQ(preparation.result().initial_weights, weights(0.5F));
}

double reciprocal(double smoothness) { return 1 / smoothness; }

TEST(Preparation, NewcomersAreMeasuredAndComparedWithWhatIsSettled) {
  for (const OnOutlier rule : {OnOutlier::kRefuse, OnOutlier::kWarn}) {
    PreparationNeeds needs = all_needs();
    Preparation preparation(needs, schema(), reciprocal, rule, {pooled(), 0.25, {}});
    preparation.join("late", 3);
    EXPECT_EQ(preparation.task("late").work, Work::kMeasure);
    const std::uint64_t stage = preparation.stage("late");
    const Update far = sums_update({1e6, 1, 2e6, 2, 3e6, 3});
    EXPECT_EQ(preparation.submit("late", far).reason,
              rule == OnOutlier::kRefuse ? Reason::kOutlier : Reason::kNone);
    if (rule == OnOutlier::kRefuse) {
      EXPECT_TRUE(preparation.submit("late", sums_update(kFirst)).counts());
    } else {
      EXPECT_EQ(preparation.outliers().size(), 1U);
    }
    EXPECT_EQ(preparation.task("late").work, Work::kPrepare);
    EXPECT_NE(preparation.stage("late"), stage);
    EXPECT_EQ(preparation.submit("late", smoothness_update(1e300, 3)).reason,
              rule == OnOutlier::kRefuse ? Reason::kOutlier : Reason::kNone);
    EXPECT_EQ(preparation.submit("late", smoothness_update(9, 3)).reason, Reason::kNone);
    EXPECT_TRUE(preparation.ready("late"));
    EXPECT_EQ(preparation.result().eta, 0.25);
  }
}

}  // namespace
}  // namespace mfl
