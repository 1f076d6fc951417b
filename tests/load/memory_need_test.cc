#include "mfl/load/memory_need.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mfl/base/files.h"
#include "mfl/load/problem.h"

namespace mfl {
namespace {

using ::testing::HasSubstr;

// mfl: w and d in the State, both sent up, and at each worker both with the gradient.
TEST(MemoryNeed, CountsTheVectorsOfServerAndWorkers) {
  Config config;
  config.algorithm.name = "mfl";
  config.run.engine = "serial";
  EXPECT_EQ(memory_needed<float>(Experiment(config), 1000), (2U + 2U + 3U) * 1000 * sizeof(float));
  config.run.engine = "threads";
  config.run.threads = 3;
  config.federation.nodes = 8;
  EXPECT_EQ(memory_needed<double>(Experiment(config), 1000), (2U + 2U + 3U * 3U) * 1000 * sizeof(double));
  config.federation.nodes = 2;
  EXPECT_EQ(memory_needed<double>(Experiment(config), 1000), (2U + 2U + 2U * 3U) * 1000 * sizeof(double));
}

TEST(MemoryNeed, AModelThatCannotFitIsRefusedWithBothNumbers) {
  EXPECT_GT(memory_left(), 0U);
  EXPECT_TRUE(require_memory<float>(Experiment({}), 1'000'000));
  const auto refused = require_memory<float>(Experiment({}), std::size_t{1} << 50U);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kRunFailed);
  EXPECT_THAT(refused.error().text(), HasSubstr("a model of 1125899906842624 numbers needs "));
}

// Terabytes, of a file of 2 KB.
TEST(MemoryNeed, IsAskedBeforeAnyVectorIsMade) {
  const auto folder = TempFolder::make().value();
  std::string rows;
  for (int i = 0; i < 64; ++i) rows += i % 2 == 0 ? "1 2147483647:1\n" : "-1 1:1\n";
  ASSERT_TRUE(write_file(folder.path() / "wide.svm", rows));
  Config config;
  config.data.source = fmt::format("libsvm:{}", (folder.path() / "wide.svm").string());
  config.data.test = 0;
  config.data.max_columns = 2147483647;
  config.federation.nodes = 64;
  config.run.threads = 64;
  config.model.standardise = Standardise::kScale;
  const auto loaded = load_problem<double>(Experiment(config));
  ASSERT_FALSE(loaded);
  EXPECT_THAT(loaded.error().text(), HasSubstr("of memory to train"));
}

}  // namespace
}  // namespace mfl
