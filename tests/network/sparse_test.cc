// Features that no node uses: the server's sums have whole slices of zeros.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "processes.h"
#include "sparse_rows.h"

namespace mfl::test {
namespace {

TEST(Sparse, AFederationOfUnusedFeaturesGivesTheDigestOfTheSimulation) {
  constexpr int kNodes = 3, kRows = 40;
  const Sandbox box;
  box.write("all.libsvm", sparse_rows(0, kNodes * kRows));
  const std::vector<std::string> setting = {"--nodes", "3", "--model", "squared-svm", "--steps", "24"};
  std::vector<std::string> simulation = {"run", "--data",      "libsvm:all.libsvm", "--test",
                                         "0",   "--partition", "contiguous",        "--json"};
  simulation.insert(simulation.end(), setting.begin(), setting.end());
  const auto simulated = ok_data(box.run(simulation));
  std::vector<std::string> serving = {"server", "--plaintext",   "--listen", "127.0.0.1:0",
                                      "--set",  "data.task=raw", "--json"};
  serving.insert(serving.end(), setting.begin(), setting.end());
  Background server(box, "server", serving);
  ASSERT_TRUE(
      eventually([&] { return std::filesystem::exists(box.path("state/address")) || !server.running(); }));
  std::string address = box.read("state/address");
  address.pop_back();
  std::vector<std::unique_ptr<Background>> nodes;
  for (int i = 0; i < kNodes; ++i) {
    const std::string name = fmt::format("node-{:04}", i);
    box.write(name + ".libsvm", sparse_rows(i * kRows, (i + 1) * kRows));
    nodes.push_back(std::make_unique<Background>(
        box, name,
        std::vector<std::string>{"node", "--server", address, "--plaintext", "--name", name, "--data",
                                 "libsvm:" + name + ".libsvm", "--give-up-after", "60", "--json"}));
  }
  EXPECT_EQ(server.wait(), 0) << server.log();
  for (const auto& node : nodes) EXPECT_EQ(node->wait(), 0) << node->log();
  EXPECT_EQ(server.data()["digest"], simulated["digest"]);
}

}  // namespace
}  // namespace mfl::test
