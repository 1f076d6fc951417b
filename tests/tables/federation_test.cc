// Every entry of every table, toys included, in a federation over loopback: the digest is that of the simulation.
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <thread>
#include <vector>

#include "mfl/config/factory.h"
#include "mfl/data/source.h"
#include "mfl/load/config_partition.h"
#include "mfl/network/host.h"
#include "mfl/network/node.h"
#include "mfl/partition/split.h"
#include "tests/tables/small_run.h"

namespace mfl {
namespace {

using testing::Table;
using testing::tables;

class Federations : public testing::SmallRuns {
 protected:
  std::string simulated(const Config& config) const {
    RunOptions options;
    options.store = folder() / "runs.db";
    const auto result = run_experiment(config, options, {});
    EXPECT_TRUE(result) << result.error().text();
    return result ? result->digest : "";
  }

  // `name` is a folder of its own for every call.
  std::string served(Config config, const std::string& name) const {
    const std::filesystem::path own = folder() / name;
    const auto data = load(data_options(config)).value();
    const auto partition = make_partition(config.federation, data.train, config.run.seed);
    EXPECT_TRUE(split_to_folders(data.train, *partition, own / "parts"));
    config.data.task = effective_task(config);
    if (config.data.task == Task::kMulticlass)
      config.schema.classes = observe(data.train, LabelTask::kMulticlass)->classes;

    HostOptions options;
    options.state = own / "state";
    auto server = std::async(std::launch::async, [&] { return host_run(config, options); });
    const std::string address = address_of(options.state, server);
    std::vector<std::future<Result<NodeOutcome>>> nodes;
    for (std::size_t i = 0; i < kNodes && !address.empty(); ++i)
      nodes.push_back(std::async(std::launch::async, [&, i] { return run_node(node(own, address, i)); }));
    for (auto& one : nodes) {
      const auto outcome = one.get();
      EXPECT_TRUE(outcome) << outcome.error().text();
    }
    const auto outcome = server.get();
    EXPECT_TRUE(outcome) << outcome.error().text();
    return outcome ? outcome->run.digest : "";
  }

 private:
  static NodeOptions node(const std::filesystem::path& own, const std::string& address, std::size_t i) {
    const std::string name = fmt::format("node-{:04}", i);
    NodeOptions options;
    options.client = {address, std::nullopt, name};
    options.data.source = "npy:" + (own / "parts" / name).string();
    options.threads = 1;
    options.give_up_after = std::chrono::seconds(30);
    return options;
  }

  // Empty if the server ends before it listens.
  static std::string address_of(const std::filesystem::path& state,
                                std::future<Result<HostOutcome>>& server) {
    for (;;) {
      if (std::filesystem::exists(state / "address")) break;
      if (server.wait_for(std::chrono::milliseconds(5)) == std::future_status::ready) return {};
    }
    std::string address = *read_file(state / "address");
    while (!address.empty() && address.back() == '\n') address.pop_back();
    return address;
  }
};

TEST_F(Federations, OfEveryEntryGiveTheDigestOfTheSimulation) {
  for (const Table& table : tables())
    for (const CatalogEntry* entry : table.index->entries()) {
      SCOPED_TRACE(table.key + " " + entry->name);
      const Config config = with(table, *entry);
      EXPECT_EQ(served(config, table.index->kind() + "-" + entry->name), simulated(config));
    }
}

}  // namespace
}  // namespace mfl
