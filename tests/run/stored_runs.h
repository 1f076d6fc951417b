// Runs that are recorded in a store of their own.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "mfl/base/files.h"
#include "mfl/record/store.h"
#include "mfl/run/runner.h"

namespace mfl::test {

class StoredRuns : public ::testing::Test {
 protected:
  std::filesystem::path store_path(const std::string& name = "runs.db") const {
    return folder_.path() / name;
  }

  RunOutcome run(const Config& config, const RunHooks& hooks = {}, const std::string& resume = {}) {
    const auto outcome = run_experiment(config, {store_path(), resume, false, {}}, hooks);
    EXPECT_TRUE(outcome) << outcome.error().text();
    return outcome ? *outcome : RunOutcome{};
  }
  std::vector<RoundRow> rounds(const RunOutcome& run) const {
    return *Store::open(store_path())->rounds(run.run_id);
  }

 private:
  TempFolder folder_ = *TempFolder::make();
};

}  // namespace mfl::test
