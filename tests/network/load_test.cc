// Many nodes, and many rounds.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

#include "mfl/network/certs.h"
#include "mfl/network/node.h"
#include "processes.h"

namespace mfl::test {
namespace {

// Nodes as threads of this process, each with a connection, a certificate and data of its own. MFL_LOAD_NODES=1000 is the long form.
TEST(Load, ManyConnectedNodesTrainTwentyRoundsToTheDigestOfTheSimulation) {
  const auto count = static_cast<std::size_t>(from_environment("MFL_LOAD_NODES", 100));
  constexpr int kRounds = 20;
  Processes federation(count, {"--algorithm", "mfl", "--tau", "4", "--steps", fmt::to_string(4 * kRounds)},
                       {fmt::format("synthetic:{}x784", 2 * count), 2 * count});
  const auto server = federation.server({"--linger", "20", "--round-deadline", "300"});
  std::atomic<std::size_t> done{0};
  std::mutex mutex;
  std::string digest, trouble;
  std::vector<std::thread> nodes;
  for (std::size_t i = 0; i < count; ++i)
    nodes.emplace_back([&, i] {
      NodeOptions options;
      options.client = {federation.address(),
                        read_tls_folder(federation.box.path("pki/" + Processes::name(i))).value(),
                        {}};
      options.data.source = "npy:" + federation.box.path("parts/" + Processes::name(i)).string();
      options.threads = 1;
      options.give_up_after = kPatience;
      const auto outcome = run_node(options);
      const std::lock_guard lock(mutex);
      if (!outcome) {
        trouble = outcome.error().text();
      } else if (outcome->rounds == kRounds) {
        digest = outcome->digest;
        ++done;
      }
    });
  EXPECT_TRUE(eventually([&] { return server->committed() > 0; }, 3 * kPatience)) << server->log();
  const auto first = Clock::now();
  double peak = 0;
  EXPECT_TRUE(eventually(
      [&] {
        peak = std::max(peak, server->peak_mb());
        return server->committed() == kRounds;
      },
      3 * kPatience))
      << server->log();
  const auto took = ms_since(first);
  for (std::thread& node : nodes) node.join();
  EXPECT_EQ(server->wait(), 0) << server->log();
  EXPECT_EQ(done, count) << trouble;
  EXPECT_EQ(server->data()["rounds"], kRounds);
  EXPECT_EQ(digest, federation.simulated()["digest"]);
  fmt::print("{} connected nodes, {} rounds: about {} ms per round, {:.0f} MB in the server at most\n", count,
             kRounds, took / (kRounds - 1), peak);
}

// MFL_LOAD_ROUNDS sets how many.
TEST(Load, MemoryIsFlatOverAThousandRounds) {
  const int rounds = from_environment("MFL_LOAD_ROUNDS", 1000);
  Processes federation(2, {"--algorithm", "mfl", "--tau", "1", "--steps", fmt::to_string(rounds)},
                       {"synthetic:20x4000", 20});
  const auto server = federation.server({"--linger", "20"});
  const auto nodes = federation.all_nodes();
  ASSERT_TRUE(eventually([&] { return server->committed() >= 10; })) << server->log();
  const double early = server->resident_mb();
  double late = early;
  EXPECT_TRUE(eventually(
      [&] {
        late = std::max(late, server->resident_mb());
        return !server->running();
      },
      5 * kPatience));
  fmt::print("{:.1f} MB in the server after round 10, {:.1f} MB at most up to round {}\n", early, late,
             rounds);
  // States that were kept would be 32 MB in a thousand rounds; SQLite's cache has 2 MB.
  if (kFiguresCount) {
    EXPECT_LT(late, early + 8);
  }
  for (const auto& node : nodes) EXPECT_EQ(node->wait(), 0) << node->log();
  EXPECT_EQ(server->wait(), 0);
}

}  // namespace
}  // namespace mfl::test
