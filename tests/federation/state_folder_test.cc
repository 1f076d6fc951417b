// The folder of a server after a crash: intact it continues at the committed round; damaged in any way it either leads to the same
// model or is refused with a clear error, and never starts silently from an earlier round.
#include "mfl/federation/state_folder.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "mfl/base/files.h"
#include "mfl/base/rng.h"

namespace mfl::test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr std::uint64_t kRounds = 30, kCrash = 17;

RunSpec spec() {
  RunSpec out;
  out.algorithm = "fl";
  out.config_digest = "config";
  return out;
}

State<double> start(std::size_t size) {
  State<double> state;
  state.vectors = {{"w", Vector<double>(size, 1)}};
  return state;
}

// A round: a pure function of the State.
void advance(State<double>& state) {
  ++state.round;
  state.step += 2;
  for (std::size_t i = 0; i < state.vectors[0].values.size(); ++i) {
    double& x = state.vectors[0].values[i];
    x = 0.5 * x + static_cast<double>(state.round * (i + 1));
  }
}

std::string digest_after(std::uint64_t rounds, std::size_t size) {
  State<double> state = start(size);
  while (state.round < rounds) advance(state);
  return weights_digest(state);
}

// A server without nodes.
struct Server {
  StateFolder folder;
  RunRow run;
  State<double> state;
  StoreLog log;

  static Result<std::unique_ptr<Server>> open(const fs::path& path, std::size_t size,
                                              std::optional<std::uint64_t> from_round = {},
                                              bool drop_all_rounds = false) {
    StateFolderOptions options;
    options.folder = path;
    options.from_round = from_round;
    options.drop_all_rounds = drop_all_rounds;
    options.owner_patience = std::chrono::milliseconds(0);
    MFL_TRY(StateFolder folder, StateFolder::open(options));
    MFL_TRY(FoundRun found, folder.find_or_create(spec()));
    State<double> state = start(size);
    if (!found.created || from_round) {
      MFL_TRY(const auto from, folder.resume<double>(found.run.id));
      if (from) state = from->state;
    }
    MFL_CHECK(folder.settle(found.run.id));
    return std::unique_ptr<Server>(new Server(std::move(folder), found.run, std::move(state)));
  }

  Server(StateFolder f, RunRow r, State<double> s)
      : folder(std::move(f)),
        run(std::move(r)),
        state(std::move(s)),
        log(folder.store(), run.id, options()) {}

  StoreLogOptions options() {
    StoreLogOptions out;
    out.committed = [this](std::uint64_t round, std::string_view digest) {
      return folder.note(round, digest);
    };
    return out;
  }

  Result<void> commit() {
    CommittedRound round;
    round.closed = {state.round, state.step, 1.0 / static_cast<double>(1 + state.round),
                    0,           0,          state_digest(state)};
    advance(state);
    round.round = state.round;
    round.blob = encode_round(state, 0, 0);
    return log.commit(round);
  }
  Result<void> commit_to(std::uint64_t last) {
    while (state.round < last) MFL_CHECK(commit());
    return {};
  }
};

// A folder as kill -9 leaves it: its files are copied while the server has them open.
struct Crashed {
  explicit Crashed(std::size_t size, std::uint64_t rounds = kCrash) {
    const auto live = home.path() / "live";
    const auto server = Server::open(live, size).value();
    EXPECT_TRUE(server->commit_to(rounds));
    id = server->run.id;
    fs::copy(live, image, fs::copy_options::recursive);
  }
  fs::path fresh(const std::string& name = "again") const {
    const fs::path path = home.path() / name;
    fs::remove_all(path);
    fs::copy(image, path, fs::copy_options::recursive);
    return path;
  }
  TempFolder home = TempFolder::make().value();
  fs::path image = home.path() / "image";
  std::string id;
};

constexpr std::size_t kSmall = 50, kLarge = 140'000;  // States in the store, and beside it

void expect_clear(const Error& error, const std::string& words) {
  EXPECT_THAT(error.text(), HasSubstr(words));
  EXPECT_FALSE(error.first_hint().empty()) << error.text();
  EXPECT_EQ(error.text().find('\n'), std::string::npos);
}

void run_sql(const fs::path& store, const std::string& sql) {
  sqlite3* connection = nullptr;
  ASSERT_EQ(sqlite3_open(store.c_str(), &connection), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(connection, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
      << sqlite3_errmsg(connection);
  sqlite3_close(connection);
}

TEST(StateFolder, ContinuesWhereItWasKilled) {
  for (const std::size_t size : {kSmall, kLarge}) {
    const Crashed crashed(size);
    const auto server = Server::open(crashed.fresh(), size).value();
    EXPECT_EQ(server->run.id, crashed.id);
    EXPECT_EQ(server->state.round, kCrash);
    EXPECT_TRUE(server->folder.warnings().empty());
    ASSERT_TRUE(server->commit_to(kRounds));
    EXPECT_EQ(weights_digest(server->state), digest_after(kRounds, size));
  }
}

TEST(StateFolder, ASecondServerIsRefused) {
  const auto home = TempFolder::make().value();
  const auto first = Server::open(home.path() / "state", kSmall).value();
  const auto second = Server::open(home.path() / "state", kSmall);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kBadConfig);
  expect_clear(second.error(), "state is served by process");
  EXPECT_TRUE(first->commit_to(3));
}

TEST(StateFolder, AStoreThatLostRoundsOrRunsIsRefused) {
  const Crashed crashed(kSmall);
  const auto path = crashed.fresh();
  const auto expect_refused = [&](const std::string& words) {
    const auto opened = Server::open(path, kSmall);
    ASSERT_FALSE(opened) << words;
    EXPECT_EQ(opened.error().code, ErrorCode::kRunFailed);
    expect_clear(opened.error(), words);
  };
  fs::remove(path / "runs.db-wal");
  expect_refused("knows rounds up to 0, but round 17 of run " + crashed.id + " was committed");
  run_sql(path / "runs.db", "DELETE FROM runs");
  expect_refused("does not know run " + crashed.id + ", whose round 17 was committed");
  fs::remove(path / "runs.db-shm");
  fs::remove(path / "runs.db");
  expect_refused("runs.db is missing, but round 17 of run " + crashed.id + " was committed");
  EXPECT_FALSE(fs::exists(path / "runs.db")) << "nothing was made";
  std::ofstream(path / "runs.db").close();
  expect_refused("runs.db is empty, but round 17");
  fs::remove(path / "progress");
  EXPECT_TRUE(Server::open(path, kSmall)) << "nothing is left of the run";
}

TEST(StateFolder, DeletedStatesAreNotANewStart) {
  const Crashed crashed(kSmall);
  for (const bool witness : {true, false}) {
    const auto path = crashed.fresh();
    run_sql(path / "runs.db", "DELETE FROM checkpoints");
    if (!witness) fs::remove(path / "progress");
    const auto opened = Server::open(path, kSmall);
    ASSERT_FALSE(opened);
    expect_clear(opened.error(),
                 witness ? "knows rounds up to 0, but round 17" : "but States only up to round 0");
  }
  const auto path = crashed.fresh();
  run_sql(path / "runs.db", "DELETE FROM checkpoints WHERE round > 15");
  const auto opened = Server::open(path, kSmall);
  ASSERT_FALSE(opened);
  expect_clear(opened.error(), "knows rounds up to 15, but round 17");
  EXPECT_THAT(std::string(opened.error().first_hint()), HasSubstr("--from-round 15"));
  const auto server = Server::open(path, kSmall, 15).value();
  EXPECT_EQ(server->state.round, 15U);
  EXPECT_THAT(server->folder.warnings(), ::testing::ElementsAre("rounds 16 to 17 dropped: --from-round 15"));
  ASSERT_TRUE(server->commit_to(kRounds));
  EXPECT_EQ(weights_digest(server->state), digest_after(kRounds, kSmall));
}

TEST(StateFolder, StatesOfUnknownRunsAndLaterRoundsAreRefused) {
  const Crashed crashed(kLarge, 6);
  {
    const auto path = crashed.fresh();
    fs::remove(path / "progress");
    fs::rename(path / "runs.db.states" / (crashed.id + "-6"), path / "runs.db.states" / (crashed.id + "-8"));
    expect_clear(Server::open(path, kLarge).error(), "up to 6, but the State of round 8");
    fs::rename(path / "runs.db.states" / (crashed.id + "-8"), path / "runs.db.states" / (crashed.id + "-7"));
    const auto server = Server::open(path, kLarge).value();  // as a killed process leaves it
    EXPECT_EQ(server->state.round, 5U) << "and the State of round 6 is missing";
    EXPECT_THAT(server->folder.warnings(),
                ::testing::ElementsAre("round 6 dropped: damaged, continued from round 5"));
  }
  const auto path = crashed.fresh();
  fs::remove(path / "progress");
  std::ofstream(path / "runs.db.states" / "00000000-3") << "state";
  expect_clear(Server::open(path, kLarge).error(), "has States of run 00000000");
  for (const char* file : {"runs.db", "runs.db-wal", "runs.db-shm"}) fs::remove(path / file);
  expect_clear(Server::open(path, kLarge).error(), "runs.db is missing, but States of run");
}

TEST(StateFolder, ADamagedStateMeansTheOneBeforeAndAWarning) {
  const Crashed crashed(kSmall);
  const auto path = crashed.fresh();
  run_sql(path / "runs.db", "UPDATE checkpoints SET blob = x'00' WHERE round > 15");
  {
    const auto server = Server::open(path, kSmall).value();
    EXPECT_EQ(server->state.round, 15U);
    EXPECT_THAT(server->folder.warnings(),
                ::testing::ElementsAre("rounds 16 to 17 dropped: damaged, continued from round 15"));
    EXPECT_EQ(server->folder.store().get(crashed.id)->drops.size(), 1U);
    ASSERT_TRUE(server->commit_to(16));
  }
  {
    const auto server = Server::open(path, kSmall).value();
    EXPECT_EQ(server->state.round, 16U);
    EXPECT_TRUE(server->folder.warnings().empty());
  }
  run_sql(path / "runs.db", "UPDATE checkpoints SET blob = x'00'");
  expect_clear(Server::open(path, kSmall).error(), "no State of run " + crashed.id + " is whole");
}

TEST(StateFolder, GoesBackToAKeptRound) {
  const Crashed crashed(kSmall);
  const auto path = crashed.fresh();
  const auto refused = Server::open(path, kSmall, 12);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kBadConfig);
  expect_clear(refused.error(), "--from-round 12: run " + crashed.id + " does not keep");
  EXPECT_THAT(std::string(refused.error().first_hint()), HasSubstr("17, 16, 15, 14, 13"));
  {
    const auto server = Server::open(path, kSmall, 13).value();
    EXPECT_EQ(server->state.round, 13U);
    EXPECT_THAT(server->folder.warnings(),
                ::testing::ElementsAre("rounds 14 to 17 dropped: --from-round 13"));
    ASSERT_TRUE(server->commit_to(14));
  }
  const auto server = Server::open(path, kSmall).value();
  EXPECT_EQ(server->state.round, 14U);
  EXPECT_TRUE(server->folder.warnings().empty());
  ASSERT_TRUE(server->commit_to(kRounds));
  EXPECT_EQ(weights_digest(server->state), digest_after(kRounds, kSmall));
  const auto run = server->folder.store().get(crashed.id).value();
  ASSERT_EQ(run.drops.size(), 1U);
  EXPECT_EQ(run.drops[0].reason, "--from-round 13");
  EXPECT_EQ(server->folder.store().rounds(crashed.id)->size(), kRounds);
  const auto empty = TempFolder::make().value();
  expect_clear(Server::open(empty.path() / "new", kSmall, 0).error(), "has no run yet");
}

TEST(StateFolder, BeginsAgainWhereThatIsConfirmed) {
  const Crashed crashed(kSmall);
  const auto path = crashed.fresh();
  {
    const auto before = Store::open(path / "runs.db").value();
    ASSERT_TRUE(before.rounds(crashed.id)->size() > 10);
  }
  const auto refused = Server::open(path, kSmall, 0);
  ASSERT_FALSE(refused);
  expect_clear(refused.error(), "--from-round 0 drops all 17 rounds of run " + crashed.id);
  EXPECT_THAT(std::string(refused.error().first_hint()), HasSubstr("--drop-all-rounds"));
  EXPECT_EQ(Store::open(path / "runs.db")->kept_rounds(crashed.id)->front(), 17U) << "nothing was dropped";
  ASSERT_TRUE(Store::open(path / "runs.db")->set_data_schema(crashed.id, R"({"columns":3,"task":"binary"})"));
  {
    const auto server = Server::open(path, kSmall, 0, true).value();
    EXPECT_EQ(server->state.round, 0U);
    EXPECT_TRUE(server->folder.store().rounds(crashed.id)->empty());
    EXPECT_EQ(server->folder.store().get(crashed.id)->data_schema, "");
    ASSERT_TRUE(server->commit_to(2));
  }
  const auto server = Server::open(path, kSmall).value();
  EXPECT_EQ(server->state.round, 2U);
  ASSERT_TRUE(server->commit_to(kRounds));
  EXPECT_EQ(weights_digest(server->state), digest_after(kRounds, kSmall));
  EXPECT_EQ(server->folder.store().get(crashed.id)->drops[0].reason, "--from-round 0");
}

TEST(StateFolder, NoticesWithinARoundThatItsFilesAreGone) {
  for (const char* file : {"runs.db", "runs.db-wal", "lock"}) {
    const auto home = TempFolder::make().value();
    const auto server = Server::open(home.path(), kSmall).value();
    ASSERT_TRUE(server->commit_to(3));
    fs::rename(home.path() / file, home.path() / "moved");
    const auto lost = server->commit();
    ASSERT_FALSE(lost) << file;
    expect_clear(lost.error(), fmt::format("{} was deleted or replaced", file));
  }
}

TEST(StateFolder, ARestoredBackupMustBeConfirmed) {
  const Crashed crashed(kSmall, 10);
  const auto path = crashed.fresh();
  {
    const auto server = Server::open(path, kSmall).value();
    ASSERT_TRUE(server->commit_to(14));
  }
  for (const char* file : {"runs.db", "runs.db-wal"})
    fs::copy_file(crashed.image / file, path / file, fs::copy_options::overwrite_existing);
  expect_clear(Server::open(path, kSmall).error(), "knows rounds up to 10, but round 14");
  EXPECT_EQ(Server::open(path, kSmall, 10).value()->state.round, 10U);
  EXPECT_EQ(Server::open(path, kSmall).value()->state.round, 10U);
}

// One flipped bit in one of the files of a folder that kill -9 left.
TEST(StateFolder, RandomBitFlipsGiveTheSameModelOrAnError) {
  const char* more = std::getenv("MFL_BIT_FLIPS");
  const int flips = more == nullptr ? 20 : std::atoi(more);
  int same = 0, warned = 0, refused = 0;
  for (const std::size_t size : {kSmall, kLarge}) {
    const Crashed crashed(size, size == kSmall ? kCrash : 5);
    const std::uint64_t last = size == kSmall ? kRounds : 7;
    const std::string wanted = digest_after(last, size);
    std::vector<std::string> files{"runs.db", "runs.db-wal", "progress"};
    if (size == kLarge) files.push_back(fmt::format("runs.db.states/{}-5", crashed.id));
    for (const std::string& file : files) {
      for (int i = 0; i < flips; ++i) {
        const auto path = crashed.fresh();
        std::string bytes = read_file(path / file).value();
        if (bytes.empty()) continue;
        Stream random(static_cast<std::uint64_t>(i), Purpose::kSynthetic, size, bytes.size());
        const std::uint64_t bit = random.below(8 * bytes.size());
        bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
        std::ofstream(path / file, std::ios::binary) << bytes;
        SCOPED_TRACE(fmt::format("bit {} of {}, size {}", bit, file, size));
        auto server = Server::open(path, size);
        if (!server) {
          expect_clear(server.error(), "");
          ++refused;
          continue;
        }
        const std::uint64_t committed = size == kSmall ? kCrash : 5;
        EXPECT_EQ((*server)->run.id, crashed.id);
        EXPECT_TRUE((*server)->state.round == committed || !(*server)->folder.warnings().empty())
            << "a silent older start";
        ++((*server)->folder.warnings().empty() ? same : warned);
        const auto kept = (*server)->commit_to(last);
        if (!kept) {
          expect_clear(kept.error(), "");
          continue;
        }
        EXPECT_EQ(weights_digest((*server)->state), wanted);
      }
    }
  }
  fmt::print("{} flipped bits: {} continued, {} with a warning, {} refused\n", same + warned + refused, same,
             warned, refused);
}

}  // namespace
}  // namespace mfl::test
