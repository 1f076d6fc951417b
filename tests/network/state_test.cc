// Who owns the state folder, of real processes: one server at a time, no round lost, and no silent start from an earlier one.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <thread>

#include "mfl/base/files.h"
#include "mfl/record/store.h"
#include "processes.h"

namespace mfl::test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

const std::vector<std::string> kEndless{"--algorithm", "mfl", "--tau", "1", "--steps", "1000000"};

std::size_t runs_in(const Processes& federation) {
  return Store::open(federation.box.path("state/runs.db"), {.read_only = true})->list()->size();
}

std::unique_ptr<Background> start_server(const Processes& federation, const std::string& name) {
  std::vector<std::string> arguments{"server",     "--state", "state",    "--tls",
                                     "pki/server", "--json",  "--listen", "127.0.0.1:0"};
  for (const std::string& word : federation.setting()) arguments.push_back(word);
  return std::make_unique<Background>(federation.box, name, arguments);
}

bool serves(const Background& server) { return server.log().find(" serving ") != std::string::npos; }

TEST(StateOwner, TwoServersAtOnceNeverMakeTwoRunsOrLoseARound) {
  const int starts = from_environment("MFL_DOUBLE_STARTS", 10);
  Processes federation(1, kEndless);
  std::uint64_t committed = 0;
  int fresh = 0;
  for (int i = 0; i < starts; ++i) {
    if (i % 2 == 0) {  // every second pair finds an old folder
      fs::remove_all(federation.box.path("state"));
      committed = 0;
      ++fresh;
    }
    for (const char* file : {"one.log", "two.log"}) fs::remove(federation.box.path(file));
    auto one = start_server(federation, "one");
    auto two = start_server(federation, "two");
    ASSERT_TRUE(eventually([&] { return !one->running() || !two->running(); }));
    auto& lost = one->running() ? two : one;
    auto& won = one->running() ? one : two;
    EXPECT_EQ(lost->wait(), 2) << lost->log();
    EXPECT_THAT(federation.box.read(&lost == &one ? "one.out" : "two.out"),
                HasSubstr("state is served by process"));
    ASSERT_TRUE(eventually([&] { return serves(*won) || !won->running(); })) << won->log();
    EXPECT_THAT(won->log(), HasSubstr(fmt::format(" round={} ", committed)));
    auto address = federation.box.read("state/address");
    while (address.ends_with('\n')) address.pop_back();
    const auto node = federation.node(0, {}, address);
    ASSERT_TRUE(eventually([&] { return won->committed() > committed + 3; })) << won->log();
    won->signal_and_wait(i % 3 == 0 ? SIGTERM : SIGKILL);
    EXPECT_EQ(runs_in(federation), 1U);
    const auto store = Store::open(federation.box.path("state/runs.db"), {.read_only = true}).value();
    const auto found = store.latest_checkpoint(store.get("latest")->id).value();
    ASSERT_TRUE(found);
    EXPECT_GE(found->round, won->committed());
    committed = found->round;
  }
  fmt::print("{} double starts, {} of them on new folders: one server, one run, no round lost\n", starts,
             fresh);
}

// The folder of a server that was killed after some rounds.
struct Killed {
  Killed() : federation(2, {"--algorithm", "mfl", "--tau", "1", "--steps", "120"}) {
    auto server = federation.server();
    const auto nodes = federation.all_nodes();
    EXPECT_TRUE(eventually([&] { return server->committed() > 20; })) << server->log();
    server->signal_and_wait(SIGKILL);
    fs::copy(federation.box.path("state"), federation.box.path("image"), fs::copy_options::recursive);
  }
  void restore() const {
    fs::remove_all(federation.box.path("state"));
    fs::copy(federation.box.path("image"), federation.box.path("state"), fs::copy_options::recursive);
    fs::remove(federation.box.path("server.log"));
  }
  // Runs it to its end.
  JsonValue finish(const std::vector<std::string>& more = {}) {
    const auto server = federation.server(more);
    const auto nodes = federation.all_nodes();
    EXPECT_EQ(server->wait(), 0) << server->log();
    return server->data();
  }
  Processes federation;
};

TEST(StateOwner, ADamagedLogIsRefusedAndFromRoundContinues) {
  Killed killed;
  Processes& federation = killed.federation;
  const auto simulated = federation.simulated();
  {
    std::fstream log(federation.box.path("state/runs.db-wal"),
                     std::ios::in | std::ios::out | std::ios::binary);
    log.seekp(40);
    log.put('\x55');
  }
  const auto refused = federation.server();
  EXPECT_EQ(refused->wait(), 1);
  EXPECT_THAT(federation.box.read("server.out"), HasSubstr("knows rounds up to 0, but round "));
  EXPECT_THAT(federation.box.read("server.out"), HasSubstr("restore the state folder from a backup"));

  killed.restore();
  const auto store = Store::open(federation.box.path("state/runs.db"), {.read_only = true}).value();
  const std::string id = store.get("latest")->id;
  const auto kept = store.kept_rounds(id).value();
  ASSERT_EQ(kept.size(), 5U);
  const auto missing = federation.server({"--from-round", "1"});
  EXPECT_EQ(missing->wait(), 2);
  EXPECT_THAT(federation.box.read("server.out"), HasSubstr(fmt::format("{}, {}", kept[0], kept[1])));

  const auto served = killed.finish({"--from-round", fmt::to_string(kept[3])});
  EXPECT_EQ(served["digest"], simulated["digest"]);
  EXPECT_THAT(federation.box.read("server.log"), HasSubstr(" resumed "));
  const auto shown = federation.box.run({"runs", "show", "latest", "--store", "state/runs.db"}).out;
  EXPECT_THAT(shown, HasSubstr(fmt::format("rounds {} to {} dropped on ", kept[2], kept[0])));
  EXPECT_THAT(federation.box.run({"runs", "list", "--store", "state/runs.db"}).out,
              HasSubstr("* rounds were dropped"));

  // A run that has ended can go back as well.
  const auto again = killed.finish({"--from-round", "117"});
  EXPECT_EQ(again["digest"], simulated["digest"]);
  EXPECT_EQ(again["rounds"], 120);
}

// As far back as there are States, also where nodes keep vectors.
TEST(StateOwner, FromRoundGoesBackWithWhatNodesKeep) {
  Processes federation(2, {"--algorithm", "scaffold-acg", "--momentum", "keep-local", "--eta", "0.02",
                           "--tau", "1", "--steps", "60"});
  const auto simulated = federation.simulated();
  const auto finish = [&](const std::vector<std::string>& more) {
    const auto server = federation.server(more);
    std::vector<std::unique_ptr<Background>> nodes;
    for (std::size_t i = 0; i < 2; ++i)
      nodes.push_back(federation.node(i, {"--state", fmt::format("node-{}.kept", i)}));
    EXPECT_EQ(server->wait(), 0) << server->log();
    for (const auto& node : nodes) EXPECT_EQ(node->wait(), 0) << node->log();
    EXPECT_EQ(server->data()["digest"], simulated["digest"]);
  };
  finish({});
  for (const int round : {56, 58, 59}) finish({"--from-round", fmt::to_string(round)});
}

TEST(StateOwner, ADamagedStateIsLoggedAndShownInTheStatus) {
  Killed killed;
  Processes& federation = killed.federation;
  const auto simulated = federation.simulated();
  std::uint64_t newest = 0;
  std::string blob;
  {
    const auto store = Store::open(federation.box.path("state/runs.db")).value();
    const auto checkpoint = store.latest_checkpoint(store.get("latest")->id).value();
    newest = checkpoint->round;
    blob = checkpoint->blob;
  }  // closing it has put everything into the file
  {
    std::string bytes = read_file(federation.box.path("state/runs.db")).value();
    const std::size_t at = bytes.find(blob.substr(60, 40));
    ASSERT_NE(at, std::string::npos);
    bytes[at + 3] = static_cast<char>(bytes[at + 3] ^ 4);
    std::ofstream(federation.box.path("state/runs.db"), std::ios::binary) << bytes;
  }
  const auto server = federation.server();
  const std::string words =
      fmt::format("round {} dropped: damaged, continued from round {}", newest, newest - 1);
  EXPECT_THAT(server->log(), HasSubstr(words));
  EXPECT_THAT(federation.status().dump(), HasSubstr(words));
  const auto nodes = federation.all_nodes();
  EXPECT_EQ(server->wait(), 0) << server->log();
  EXPECT_EQ(server->data()["digest"], simulated["digest"]);
}

TEST(StateOwner, AStoreThatIsDeletedUnderTheServerEndsTheRun) {
  Processes federation(1, kEndless);
  const auto server = federation.server();
  const auto node = federation.node(0);
  ASSERT_TRUE(eventually([&] { return server->committed() > 5; })) << server->log();
  fs::rename(federation.box.path("state/runs.db"), federation.box.path("state/elsewhere"));
  EXPECT_EQ(server->wait(), 1) << server->log();
  EXPECT_THAT(federation.box.read("server.out"), HasSubstr("runs.db was deleted or replaced"));
  const auto again = federation.server();
  EXPECT_EQ(again->wait(), 1) << "and the next does not start a new run";
  EXPECT_THAT(federation.box.read("server.out"), HasSubstr("runs.db is missing, but round "));
}

}  // namespace
}  // namespace mfl::test
