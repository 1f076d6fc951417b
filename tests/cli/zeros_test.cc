// Runs in which weights, losses or features stay exactly zero: each ends with a result.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "process.h"

namespace mfl::test {
namespace {

struct ZeroCase {
  const char* name;
  const char* csv;  // empty: synthetic data
  std::vector<std::string> flags;
};

std::ostream& operator<<(std::ostream& to, const ZeroCase& zero) { return to << zero.name; }

class Zeros : public ::testing::TestWithParam<ZeroCase> {};

TEST_P(Zeros, EndsWithAResult) {
  const Sandbox box;
  box.write("z.csv", GetParam().csv);
  const std::string data = *GetParam().csv == 0 ? "synthetic:1x1" : "csv:z.csv";
  for (const char* precision : {"f32", "f64"})
    for (const char* engine : {"serial", "threads"}) {
      std::vector<std::string> arguments{"run",     "--data",    data,          "--test",  "0",
                                         "--steps", "8",         "--precision", precision, "--engine",
                                         engine,    "--threads", "2",           "--json"};
      arguments.insert(arguments.end(), GetParam().flags.begin(), GetParam().flags.end());
      const auto result = ok_data(box.run(arguments));
      EXPECT_EQ(result["status"], "done");
      EXPECT_TRUE(result["final"]["train_loss"].is_number());
    }
}

TEST_P(Zeros, TheTheoryEnds) {
  const Sandbox box;
  box.write("z.csv", GetParam().csv);
  const std::string data = *GetParam().csv == 0 ? "synthetic:1x1" : "csv:z.csv";
  std::vector<std::string> arguments{"theory", "run", "--data", data, "--test", "0", "--steps", "8"};
  arguments.insert(arguments.end(), GetParam().flags.begin(), GetParam().flags.end());
  const Outcome outcome = box.run(arguments);
  EXPECT_LE(outcome.code, 3) << outcome.err;
}

INSTANTIATE_TEST_SUITE_P(
    Run, Zeros,
    ::testing::Values(
        ZeroCase{"OneSampleOfOneFeature", "", {"--nodes", "1"}},
        ZeroCase{"FeaturesAllZero", "0,0,1\n0,0,-1\n0,0,1\n0,0,-1\n", {"--nodes", "2"}},
        ZeroCase{"BalancedIdenticalRows",
                 "1,2,1\n1,2,-1\n1,2,1\n1,2,-1\n",
                 {"--nodes", "2", "--partition", "contiguous", "--model", "logistic"}},
        ZeroCase{"TargetsAllZero", "1,2,0\n3,4,0\n5,6,0\n", {"--nodes", "1", "--model", "linear"}},
        ZeroCase{"StepsThatVanish", "1,2,1\n-3,4,-1\n5,6,1\n", {"--nodes", "1", "--eta", "1e-45"}}),
    ::testing::PrintToStringParamName());

}  // namespace
}  // namespace mfl::test
