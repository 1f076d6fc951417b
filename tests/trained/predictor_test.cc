// Predictions: the bits of training, and what scores mean.
#include "mfl/trained/predictor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "mfl/base/files.h"
#include "mfl/config/config.h"
#include "mfl/run/runner.h"
#include "tests/trained/small_models.h"

namespace mfl::test {
namespace {

using ::testing::HasSubstr;

Predictor predictor_of(TrainedModel model) {
  model.digest = digest_of_weights(model);
  return Predictor::make(std::move(model)).value();
}

TEST(Predictor, ALogisticModelGivesTheProbabilityOfEachClass) {
  const Predictor predictor = predictor_of(two_classes());
  EXPECT_EQ(predictor.value_names(), (std::vector<std::string>{"probability_no", "probability_yes"}));
  const Predictions said = predictor.predict(std::vector<double>{1, 1, 0, 3, 0, 0}).value();
  EXPECT_EQ(said.labels, (std::vector<std::uint32_t>{1, 0, 0})) << "a margin of zero is not positive";
  ASSERT_EQ(said.values.size(), 6U);
  EXPECT_NEAR(said.values[1], 1 / (1 + std::exp(-1.0)), 1e-12);
  EXPECT_NEAR(said.values[2], 1 / (1 + std::exp(-3.0)), 1e-12);
  EXPECT_EQ(said.values[4], 0.5);
}

TEST(Predictor, ThePositiveClassMayBeTheFirst) {
  TrainedModel model = two_classes();
  model.schema.positive = "no";
  const Predictor predictor = predictor_of(model);
  const Predictions said = predictor.predict(std::vector<double>{1, 1, 0, 3}).value();
  EXPECT_EQ(said.labels, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_NEAR(said.values[0], 1 / (1 + std::exp(-1.0)), 1e-12);
  EXPECT_NEAR(said.values[3], 1 / (1 + std::exp(-3.0)), 1e-12);
}

TEST(Predictor, ScoresAreExactWhereTheyAreSmall) {
  const Predictor predictor = predictor_of(two_classes());
  const Predictions said = predictor.predict(std::vector<double>{-200, 0}).value();
  EXPECT_GT(said.values[1], 0);
  EXPECT_NEAR(said.values[1] / std::exp(-400.0), 1, 1e-12);
  EXPECT_EQ(said.values[0], 1);
}

TEST(Predictor, FeaturesAreScaledThenStandardised) {
  const Predictor predictor = predictor_of(standardised());
  EXPECT_EQ(predictor.value_names(), std::vector<std::string>{"score"});
  const Predictions said = predictor.predict(std::vector<double>{4, 12}).value();
  // (0.5 * 4 - 1) / 0.5 = 2, (0.5 * 12 + 2) / 4 = 2
  EXPECT_EQ(said.values, std::vector<double>{2.0 * 2 - 2 + 0.25});
}

TEST(Predictor, OtherColumnsAreRefused) {
  const Predictor predictor = predictor_of(two_classes());
  EXPECT_THAT(predictor.predict(std::vector<double>{1, 2, 3}).error().message,
              HasSubstr("3 numbers are no rows of 2 features"));
  Dataset wide;
  wide.rows = 1;
  wide.columns = 3;
  wide.features = DenseRows<double>{{1, 2, 3}};
  wide.labels = {0};
  EXPECT_THAT(predictor.predict(wide).error().message, HasSubstr("3 features and the model 2"));
}

// Of every model of the table, in both precisions: loss and accuracy of the test set are those of the run, to the last bit.
TEST(Predictor, ScoresTheTestSetOfARunWithItsBits) {
  const TempFolder folder = *TempFolder::make();
  const RunOptions options{.store = folder.path() / "runs.db"};
  for (const ModelEntry& entry : models())
    for (const Precision precision : {Precision::kF32, Precision::kF64}) {
      if (entry.external) continue;
      SCOPED_TRACE(entry.name);
      Config config;
      config.data.source = "synthetic:700x20";
      config.data.train = 400;
      config.data.test = 300;
      config.model.name = entry.name;
      config.run.steps = 8;
      config.run.precision = precision;
      const auto outcome = run_experiment(config, options, {});
      ASSERT_TRUE(outcome) << outcome.error().text();
      const Predictor predictor = Predictor::make(find_model("latest", options.store).value()).value();
      Dataset test = *load(data_options(config)).value().test;
      const auto scored = predictor.score(test);
      ASSERT_TRUE(scored) << scored.error().text();
      EXPECT_EQ(scored->loss, outcome->final.test_loss);
      if (outcome->final.test_accuracy) {
        EXPECT_EQ(static_cast<double>(scored->correct) / 300, *outcome->final.test_accuracy);
      }
      const Predictions said = predictor.predict(test).value();
      EXPECT_EQ(said.rows, 300U);
      EXPECT_EQ(said.values.size(), 300 * predictor.value_names().size());
    }
}

TEST(Predictor, AnUnknownClassIsNamedWithItsPlace) {
  const TempFolder folder = *TempFolder::make();
  const auto path = folder.path() / "new.csv";
  ASSERT_TRUE(write_file(path, "a,b,y\n1,2,yes\n3,4,perhaps\n"));
  const auto scored = predictor_of(two_classes()).score(read_csv(path).value());
  ASSERT_FALSE(scored);
  EXPECT_EQ(scored.error().code, ErrorCode::kBadData);
  EXPECT_THAT(scored.error().message, HasSubstr("line 3, column 3"));
  EXPECT_THAT(scored.error().message, HasSubstr("perhaps"));
}

}  // namespace
}  // namespace mfl::test
