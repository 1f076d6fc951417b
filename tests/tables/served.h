// A federation over loopback in this process.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "mfl/config/entries.h"
#include "mfl/data/source.h"
#include "mfl/load/config_partition.h"
#include "mfl/network/host.h"
#include "mfl/network/node.h"
#include "mfl/partition/split.h"
#include "mfl/run/runner.h"

namespace mfl::test {

// The life of a node: run_node, once or as often as it takes.
using NodeLife = std::function<Result<NodeOutcome>(NodeOptions options)>;

inline std::string simulated(const Config& config, const std::filesystem::path& folder) {
  RunOptions options;
  options.store = folder / "runs.db";
  const auto result = run_experiment(config, options, {});
  EXPECT_TRUE(result) << result.error().text();
  return result ? result->digest : "";
}

// Empty if the server ends before it listens.
inline std::string address_of(const std::filesystem::path& state, std::future<Result<HostOutcome>>& server) {
  for (;;) {
    if (std::filesystem::exists(state / "address")) break;
    if (server.wait_for(std::chrono::milliseconds(5)) == std::future_status::ready) return {};
  }
  std::string address = *read_file(state / "address");
  while (!address.empty() && address.back() == '\n') address.pop_back();
  return address;
}

// The digest. `own` is a folder of its own for every call.
inline std::string served(Config config, const std::filesystem::path& own, const NodeLife& live = run_node) {
  const auto data = load(data_options(config)).value();
  const auto nodes_data = data_of_nodes(config, data.train).value();
  EXPECT_TRUE(split_to_folders(nodes_data.rows, nodes_data.partition, own / "parts",
                               is_own_data(config.data.source)));
  config.data.task = effective_task(config);
  if (config.data.task == Task::kMulticlass)
    config.schema.classes = observe(data.train, LabelTask::kMulticlass)->classes;

  std::atomic<bool> stop = false;
  HostOptions options;
  options.state = own / "state";
  options.stop = &stop;
  auto server = std::async(std::launch::async, [&] { return host_run(config, options); });
  const std::string address = address_of(options.state, server);
  std::vector<std::future<Result<NodeOutcome>>> nodes;
  for (std::size_t i = 0; i < config.federation.nodes && !address.empty(); ++i)
    nodes.push_back(std::async(std::launch::async, [&, i] {
      const std::string name = fmt::format("node-{:04}", i);
      NodeOptions node;
      node.client = {address, std::nullopt, name};
      node.data.source = "npy:" + (own / "parts" / name).string();
      node.threads = 1;
      node.state = own / (name + ".kept");
      node.give_up_after = std::chrono::seconds(30);
      return live(node);
    }));
  for (auto& one : nodes) {
    const auto outcome = one.get();
    EXPECT_TRUE(outcome) << outcome.error().text();
    if (!outcome) stop = true;
  }
  const auto outcome = server.get();
  EXPECT_TRUE(outcome) << outcome.error().text();
  return outcome ? outcome->run.digest : "";
}

}  // namespace mfl::test
