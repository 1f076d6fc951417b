// Training on an array in memory makes no second copy of it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "handles.h"
#include "mfl/base/files.h"

namespace mfl::test {
namespace {

constexpr std::size_t kColumns = 256, kRows = (std::size_t{256} << 20U) / sizeof(float) / kColumns;

// "VmRSS" or "VmHWM", in bytes.
std::size_t memory(const std::string& what) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (word == what + ":") {
      std::size_t kilobytes = 0;
      status >> kilobytes;
      return kilobytes * 1024;
    }
  return 0;
}

// Resets VmHWM to VmRSS.
void forget_peak() { std::ofstream("/proc/self/clear_refs") << 5; }

using Settings = std::vector<std::pair<std::string, std::string>>;

// The most memory beyond that of the array that a run needed, as a share of it.
double growth(const std::vector<float>& x, const std::vector<std::uint8_t>& y, const Settings& settings,
              std::size_t copy_limit = 0) {
  const TempFolder folder = *TempFolder::make();
  Experiment experiment;
  experiment.data(MFL_TRAIN, matrix(x, kRows, kColumns), vector(y));
  experiment.set("model.name", "logistic").set("run.steps", "4").set("algorithm.tau", "2");
  for (const auto& [key, text] : settings) experiment.set(key, text);
  forget_peak();
  const std::size_t before = memory("VmRSS");
  const Json out = experiment.run(fmt::format(R"({{"store": "{}", "copy_limit": {}}})",
                                              (folder.path() / "runs.db").string(), copy_limit));
  EXPECT_EQ(text_of(out, "status"), "done");
  const double bytes = static_cast<double>(memory("VmHWM")) - static_cast<double>(before);
  return bytes / static_cast<double>(x.size() * sizeof(float));
}

TEST(Memory, IsThatOfTheArrayAndLittleMore) {
  constexpr double kMost = 0.15;
  std::vector<float> x(kRows * kColumns);
  std::vector<std::uint8_t> y(kRows);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 2654435761U % 1000) / 1000;
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = i % 3 == 0 ? 1 : 0;
  for (const Settings& settings :
       {Settings{{"algorithm.eta", "0.01"}, {"federation.partition", "iid"}, {"model.standardise", "full"}},
        Settings{{"algorithm.eta", "0.01"}, {"federation.partition", "iid"}, {"model.standardise", "scale"}},
        Settings{{"algorithm.eta", "0.01"}, {"model.name", "softmax"}},
        Settings{{"algorithm.eta", "0.01"}, {"algorithm.name", "mgd"}, {"model.intercept", "false"}},
        Settings{{"algorithm.eta", "auto"}, {"algorithm.batch_size", "100"}},
        Settings{{"algorithm.eta", "0.01"}, {"data.train", "200000"}, {"data.test", "50000"}}}) {
    std::string name;
    for (const auto& [key, text] : settings) name += fmt::format("{} = {}  ", key, text);
    const double share = growth(x, y, settings);
    RecordProperty(name, fmt::format("{:.3f}", share));
    fmt::print("{:.3f}  {}\n", share, name);
    EXPECT_LT(share, kMost) << name;
  }
  EXPECT_GT(growth(x, y, {{"algorithm.eta", "0.01"}}, std::size_t{1} << 30U), 1) << "a copy is not noticed";
}

}  // namespace
}  // namespace mfl::test
