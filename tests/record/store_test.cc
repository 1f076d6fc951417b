#include "mfl/record/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>

#include "tests/record/support.h"

namespace mfl::test {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

template <class Row>
bool same_rows(const std::vector<Row>& a, const std::vector<Row>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Row& x, const Row& y) { return test::same(x, y); });
}

TEST(Store, CreatesFolderAndFileAndPersists) {
  const Home home;
  std::string id;
  {
    Store store = Store::open(home.store).value();
    EXPECT_EQ(store.path(), home.store);
    id = store.create_run(spec()).value();
    ASSERT_TRUE(store.append(id, rounds(0, 5), records(0, 5), Checkpoint{5, "five"}));
    ASSERT_TRUE(store.finish(id, RunStatus::kDone, "", summary(), 12.5));
  }
  const Store store = Store::open(home.store, {.read_only = true}).value();
  const RunRow run = store.get(id).value();
  EXPECT_THAT(run.id, MatchesRegex("[0-9a-f]{8}"));
  EXPECT_THAT(run.created, MatchesRegex("20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9]Z"));
  EXPECT_EQ(run.status, RunStatus::kDone);
  EXPECT_EQ(run.message, "");
  EXPECT_EQ(run.name, "try");
  EXPECT_EQ(run.config, spec().config);
  EXPECT_EQ(run.config_digest, "c0");
  EXPECT_EQ(run.data_digest, "d0");
  EXPECT_EQ(run.problem, "p0");
  EXPECT_EQ(run.mfl_version, "0.1.0");
  EXPECT_EQ(run.data, "mnist");
  EXPECT_EQ(run.model, "svm");
  EXPECT_EQ(run.algorithm, "mfl");
  EXPECT_EQ(run.precision, "f32");
  EXPECT_EQ(run.nodes, 4U);
  EXPECT_EQ(run.eta, 0.002);
  EXPECT_EQ(run.gamma, 0.5);
  EXPECT_EQ(run.tau, 4U);
  EXPECT_EQ(run.planned_steps, 1000U);
  EXPECT_EQ(run.load_seconds, 0.125);
  EXPECT_EQ(run.wall_seconds, 12.5);
  ASSERT_TRUE(run.summary);
  EXPECT_EQ(run.summary->final.step, 1000U);
  EXPECT_EQ(run.summary->final.train_loss, 0.25);
  EXPECT_EQ(run.summary->final.test_loss, 0.3);
  EXPECT_EQ(run.summary->final.test_accuracy, 0.875);
  EXPECT_EQ(run.summary->best.step, 992U);
  EXPECT_EQ(run.summary->best.train_loss, 0.125);
  EXPECT_EQ(run.summary->rounds, 250U);
  EXPECT_EQ(run.summary->bytes_up, 25000U);
  EXPECT_EQ(run.summary->bytes_down, 50000U);
  EXPECT_EQ(run.summary->digest, digest(250));
  EXPECT_TRUE(same_rows(store.rounds(id).value(), rounds(0, 5)));
  EXPECT_TRUE(same_rows(store.records(id).value(), records(0, 5)));
  EXPECT_EQ(store.latest_checkpoint(id).value()->blob, "five");
}

TEST(Store, ARunInProgressHasNoSummaryAndThisOwner) {
  const Home home;
  Store store = Store::open(home.store, {.full_sync = true}).value();
  RunSpec plain = spec("gd");
  plain.tau.reset();
  const RunRow run = store.get(store.create_run(plain).value()).value();
  EXPECT_EQ(run.status, RunStatus::kRunning);
  EXPECT_FALSE(run.summary);
  EXPECT_FALSE(run.gamma);
  EXPECT_FALSE(run.tau);
  EXPECT_EQ(run.owner.pid, this_process().pid);
  EXPECT_TRUE(owner_alive(run));
  EXPECT_TRUE(store.rounds(run.id).value().empty());
  EXPECT_TRUE(store.records(run.id).value().empty());
  EXPECT_FALSE(store.latest_checkpoint(run.id).value());
}

TEST(Store, KeepsEveryBitOfEveryDouble) {
  const Home home;
  Store store = Store::open(home.store).value();
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(rc::check([&](const std::vector<std::uint64_t>& patterns) {
    std::vector<double> values = {nan, -nan, inf, -inf, 0.0, -0.0, 5e-324, 1.0, 1e300, 9007199254740992.0};
    for (const std::uint64_t bits : patterns) values.push_back(std::bit_cast<double>(bits));
    const std::string id = store.create_run(spec()).value();
    std::vector<RoundRow> by_round;
    std::vector<RecordRow> by_step;
    for (std::size_t i = 0; i < values.size(); ++i) {
      by_round.push_back({i, i, values[i], i, i, ""});
      by_step.push_back({i, i, values[i], values[i], values[values.size() - 1 - i], i, i, values[i], ""});
    }
    RC_ASSERT(store.append(id, by_round, by_step).has_value());
    RC_ASSERT(same_rows(store.rounds(id).value(), by_round));
    RC_ASSERT(same_rows(store.records(id).value(), by_step));
  }));
}

TEST(Store, ASummaryMayBeNotFinite) {
  const Home home;
  Store store = Store::open(home.store).value();
  const std::string id = store.create_run(spec()).value();
  RunSummary diverged = summary(std::nan(""));
  diverged.final.test_loss.reset();
  diverged.final.test_accuracy.reset();
  ASSERT_TRUE(store.finish(id, RunStatus::kDiverged, "loss is not finite at round 3", diverged, 1));
  const RunRow run = store.get(id).value();
  EXPECT_EQ(run.status, RunStatus::kDiverged);
  EXPECT_EQ(run.message, "loss is not finite at round 3");
  ASSERT_TRUE(run.summary);
  EXPECT_TRUE(std::isnan(run.summary->final.train_loss.value()));
  EXPECT_FALSE(run.summary->final.test_loss);
  EXPECT_FALSE(run.summary->final.test_accuracy);
}

TEST(Store, AppendIsAllOrNothing) {
  const Home home;
  Store store = Store::open(home.store).value();
  const std::string id = store.create_run(spec()).value();
  ASSERT_TRUE(store.append(id, rounds(0, 3), records(0, 3), Checkpoint{3, "three"}));
  const std::string before = contents(home.store);
  EXPECT_EQ(store.append(id, rounds(3, 6), {}).error().code, ErrorCode::kRunFailed);
  EXPECT_FALSE(store.append(id, rounds(4, 6), records(3, 6), Checkpoint{6, "six"}));
  auto bad = rounds(4, 6);
  bad.back().digest = "xyz";
  EXPECT_EQ(store.append(id, bad, {}).error().code, ErrorCode::kInternal);
  EXPECT_EQ(contents(home.store), before);
  EXPECT_TRUE(store.append(id, rounds(4, 6), records(4, 6), Checkpoint{6, "six"}));
  EXPECT_TRUE(same_rows(store.rounds(id).value(), rounds(0, 6)));
}

TEST(Store, UnknownRunsAreBadConfigEverywhere) {
  const Home home;
  Store store = Store::open(home.store).value();
  const std::string id = "00000000";
  const std::vector<std::string> ids = {id};
  EXPECT_EQ(store.get(id).error().code, ErrorCode::kBadConfig);
  EXPECT_EQ(store.get("").error().code, ErrorCode::kBadConfig);
  EXPECT_EQ(store.get("latest").error().code, ErrorCode::kBadConfig);
  EXPECT_EQ(store.append(id, rounds(0, 0), {}).error().code, ErrorCode::kBadConfig);
  EXPECT_EQ(store.finish(id, RunStatus::kDone, "", {}, 0).error().code, ErrorCode::kBadConfig);
  EXPECT_EQ(store.set_status(id, RunStatus::kFailed, "").error().code, ErrorCode::kBadConfig);
  EXPECT_EQ(store.rewind(id, 0).error().code, ErrorCode::kBadConfig);
  EXPECT_EQ(store.remove(ids).error().code, ErrorCode::kBadConfig);
  EXPECT_EQ(store.rounds(id).error().code, ErrorCode::kBadConfig);
  EXPECT_EQ(store.records(id).error().code, ErrorCode::kBadConfig);
  EXPECT_EQ(store.latest_checkpoint(id).error().code, ErrorCode::kBadConfig);
  EXPECT_EQ(store.first_round_at(id, 1).error().code, ErrorCode::kBadConfig);
  EXPECT_THAT(store.get("%").error().message, HasSubstr("no run \"%\""));
}

TEST(Store, FindsByPrefixAndLatest) {
  const Home home;
  Store store = Store::open(home.store).value();
  std::vector<std::string> ids;
  // Seventeen ids cannot all begin with different digits.
  for (int i = 0; i < 17; ++i) ids.push_back(store.create_run(spec()).value());
  EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()).size(), ids.size());
  EXPECT_EQ(store.get("latest").value().id, ids.back());
  int ambiguous = 0;
  for (const std::string& id : ids) {
    EXPECT_EQ(store.get(id).value().id, id);
    const auto begins = [&](const std::string& other) { return other[0] == id[0]; };
    const auto found = store.get(id.substr(0, 1));
    if (std::count_if(ids.begin(), ids.end(), begins) == 1) {
      EXPECT_EQ(found.value().id, id);
      continue;
    }
    ++ambiguous;
    EXPECT_EQ(found.error().code, ErrorCode::kBadConfig);
    EXPECT_THAT(found.error().message, HasSubstr("more than one"));
    EXPECT_FALSE(found.error().hint.empty());
  }
  EXPECT_GE(ambiguous, 2);
}

TEST(Store, FindsByNameAndGeneration) {
  const Home home;
  Store store = Store::open(home.store).value();
  const auto create = [&](const std::string& name) {
    RunSpec named = spec();
    named.name = name;
    return store.create_run(named).value();
  };
  const std::string first = create("try"), second = create("try"), third = create("try~0"), last = create("");
  EXPECT_EQ(store.get("try").value().id, second);
  EXPECT_EQ(store.get("try~1").value().id, first);
  EXPECT_EQ(store.get("try~0").value().id, third) << "a whole name before a generation";
  EXPECT_EQ(store.get("latest~0").value().id, last);
  EXPECT_EQ(store.get("latest~3").value().id, first);
  EXPECT_THAT(store.get("latest~4").error().message, HasSubstr("has 4 runs"));
  for (const char* unknown : {"try~2", "try~", "try~-1", "try~x", "~1", "tr", "", "latest~"})
    EXPECT_EQ(store.get(unknown).error().code, ErrorCode::kBadConfig) << unknown;
}

TEST(Store, ANameThatBeginsAnotherIdIsAnError) {
  const Home home;
  Store store = Store::open(home.store).value();
  const std::string other = store.create_run(spec()).value();
  RunSpec named = spec();
  named.name = other.substr(0, 4);
  const std::string id = store.create_run(named).value();
  const auto found = store.get(named.name);
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message, HasSubstr(id));
  EXPECT_THAT(found.error().message, HasSubstr(other));
  EXPECT_EQ(store.get(other).value().id, other);
  EXPECT_EQ(store.get(other.substr(0, 7)).value().id, other);

  named.name = other;
  (void)store.create_run(named).value();
  EXPECT_EQ(store.get(other).value().id, other) << "a whole id before a name";
}

TEST(Store, ListsNewestFirstAndFilters) {
  const Home home;
  Store store = Store::open(home.store).value();
  std::vector<std::string> ids;
  for (const char* algorithm : {"gd", "mgd", "fl", "mfl"})
    ids.push_back(store.create_run(spec(algorithm)).value());
  ASSERT_TRUE(store.set_status(ids[2], RunStatus::kFailed, "no reason"));
  const auto found = [&](const RunFilter& filter) {
    std::vector<std::string> out;
    const auto listed = store.list(filter).value();
    for (const RunRow& run : listed) out.push_back(run.id);
    return out;
  };
  using Ids = std::vector<std::string>;
  EXPECT_EQ(found({}), (Ids{ids[3], ids[2], ids[1], ids[0]}));
  EXPECT_EQ(found({.limit = 2}), (Ids{ids[3], ids[2]}));
  EXPECT_EQ(found({.algorithm = "mgd"}), Ids{ids[1]});
  EXPECT_EQ(found({.status = RunStatus::kFailed}), Ids{ids[2]});
  EXPECT_EQ(found({.status = RunStatus::kDone}), Ids{});
  EXPECT_EQ(found({.model = "logistic"}), Ids{});
  EXPECT_EQ(found({.name = "try", .model = "svm"}).size(), 4U);
  EXPECT_EQ(store.get(ids[2]).value().message, "no reason");
}

TEST(Store, FindsWorkThatIsDone) {
  const Home home;
  Store store = Store::open(home.store).value();
  const std::string first = store.create_run(spec()).value();
  EXPECT_FALSE(store.find_done("c0", "d0", "0.1.0").value());
  ASSERT_TRUE(store.finish(first, RunStatus::kDone, "", summary(), 1));
  EXPECT_EQ(store.find_done("c0", "d0", "0.1.0").value()->id, first);
  EXPECT_FALSE(store.find_done("c1", "d0", "0.1.0").value());
  EXPECT_FALSE(store.find_done("c0", "d1", "0.1.0").value());
  EXPECT_FALSE(store.find_done("c0", "d0", "0.1.1").value());
  const std::string second = store.create_run(spec()).value();
  ASSERT_TRUE(store.finish(second, RunStatus::kInterrupted, "", summary(), 1));
  EXPECT_EQ(store.find_done("c0", "d0", "0.1.0").value()->id, first);
}

TEST(Store, FirstRoundAtATarget) {
  const Home home;
  Store store = Store::open(home.store).value();
  const std::string id = store.create_run(spec()).value();
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  const std::vector<double> losses = {nan, inf, 2.0, 1.0, 0.5, 1.5, 0.25, -inf};
  std::vector<RoundRow> rows;
  for (std::size_t i = 0; i < losses.size(); ++i) rows.push_back({i, 4 * i, losses[i], i, i, ""});
  ASSERT_TRUE(store.append(id, rows, {}));
  const auto at = [&](double target) { return store.first_round_at(id, target).value().value().round; };
  EXPECT_EQ(at(inf), 1U);
  EXPECT_EQ(at(1.0), 3U);
  EXPECT_EQ(at(std::nextafter(1.0, 0.0)), 4U);
  EXPECT_EQ(at(0.3), 6U);
  EXPECT_EQ(at(0), 7U);
  EXPECT_FALSE(store.first_round_at(id, nan).value());
  EXPECT_EQ(store.first_round_at(id, 1.0).value()->step, 12U);
}

TEST(Store, KeepsTwoCheckpointsAndPassesOverADamagedOne) {
  const Home home;
  Store store = Store::open(home.store).value();
  const std::string id = store.create_run(spec()).value();
  const std::string other = store.create_run(spec()).value();
  ASSERT_TRUE(store.append(other, {}, {}, Checkpoint{1, "other"}));
  for (std::uint64_t r = 1; r <= 4; ++r)
    ASSERT_TRUE(store.append(id, rounds(r, r), {}, Checkpoint{r, "state " + std::to_string(r)}));
  EXPECT_EQ(store.latest_checkpoint(id).value()->blob, "state 4");
  EXPECT_EQ(store.latest_checkpoint(id).value()->damaged, 0U);
  EXPECT_EQ(Connection(home.store).integer("SELECT count(*) FROM checkpoints"), 3);
  Connection(home.store).run("UPDATE checkpoints SET blob = x'00' WHERE round = 4");
  const auto previous = store.latest_checkpoint(id).value();
  EXPECT_EQ(previous->round, 3U);
  EXPECT_EQ(previous->blob, "state 3");
  EXPECT_EQ(previous->damaged, 1U);
  Connection(home.store).run("UPDATE checkpoints SET blob = x'00' WHERE round = 3");
  const auto none = store.latest_checkpoint(id);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kRunFailed);
  EXPECT_THAT(none.error().message, HasSubstr("checksum"));
  EXPECT_EQ(store.latest_checkpoint(other).value()->blob, "other");
}

std::set<std::string> names_in(const std::filesystem::path& folder) {
  std::set<std::string> names;
  if (!std::filesystem::exists(folder)) return names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) names.insert(entry.path().filename());
  return names;
}

TEST(Store, LargeCheckpointsAreFilesThatComeAndGoWithTheirRows) {
  const Home home;
  const std::filesystem::path folder = home.store.string() + ".states";
  const auto large = [](std::uint64_t round) {
    return Checkpoint{round, std::string(std::size_t{1} << 20U, static_cast<char>('a' + round))};
  };
  Store store = Store::open(home.store).value();
  const std::string id = store.create_run(spec()).value();
  const std::string other = store.create_run(spec()).value();
  ASSERT_TRUE(store.append(other, rounds(1, 1), {}, large(1)));
  // Left behind by a process killed between writing the file and the row.
  std::ofstream(folder / (id + "-99")) << "not in the store";
  for (std::uint64_t r = 1; r <= 4; ++r) ASSERT_TRUE(store.append(id, rounds(r, r), {}, large(r)));
  EXPECT_EQ(names_in(folder), (std::set<std::string>{id + "-3", id + "-4", other + "-1"}));
  EXPECT_LT(std::filesystem::file_size(home.store), std::size_t{1} << 20U);
  EXPECT_EQ(store.latest_checkpoint(id).value()->blob, large(4).blob);

  // The file of a rejected row is removed with the next append at the latest.
  EXPECT_FALSE(store.append(id, rounds(4, 4), {}, large(7)));
  EXPECT_EQ(store.latest_checkpoint(id).value()->round, 4U);

  std::ofstream(folder / (id + "-4"), std::ios::app) << "!";
  const auto previous = store.latest_checkpoint(id).value();
  EXPECT_EQ(previous->round, 3U);
  EXPECT_EQ(previous->blob, large(3).blob);
  EXPECT_EQ(previous->damaged, 1U);

  ASSERT_TRUE(store.finish(id, RunStatus::kInterrupted, "stopped", summary(), 3));
  ASSERT_TRUE(store.rewind(id, 3));
  EXPECT_EQ(names_in(folder), (std::set<std::string>{id + "-3", other + "-1"}));
  ASSERT_TRUE(store.append(id, rounds(4, 5), {}, Checkpoint{5, "small"}));
  EXPECT_EQ(store.latest_checkpoint(id).value()->blob, "small");
  std::filesystem::remove(folder / (id + "-3"));
  EXPECT_EQ(store.latest_checkpoint(id).value()->blob, "small");

  ASSERT_TRUE(store.finish(other, RunStatus::kDone, "", summary(), 3));
  ASSERT_TRUE(store.remove(std::vector{other}));
  EXPECT_TRUE(names_in(folder).empty());
}

TEST(Store, RemovesManyRunsWithTheirFilesAndNoOthers) {
  const Home home;
  const std::filesystem::path folder = home.store.string() + ".states";
  Store store = Store::open(home.store).value();
  std::vector<std::string> ids;
  for (int i = 0; i < 60; ++i) {
    ids.push_back(store.create_run(spec()).value());
    ASSERT_TRUE(store.append(ids.back(), rounds(0, 3), records(0, 3)));
    ASSERT_TRUE(store.finish(ids.back(), RunStatus::kDone, "", summary(), 3));
    ASSERT_TRUE(make_folder(folder));
    for (const char* round : {"-2", "-3"}) std::ofstream(folder / (ids.back() + round)) << "state";
  }
  ASSERT_TRUE(store.remove(std::span(ids).first(50)));
  EXPECT_EQ(store.list().value().size(), 10U);
  EXPECT_EQ(names_in(folder).size(), 20U);
  for (const std::string& id : std::span(ids).last(10)) {
    EXPECT_EQ(store.rounds(id).value().size(), 4U);
    EXPECT_TRUE(names_in(folder).contains(id + "-3"));
  }
  Connection plain(home.store);
  EXPECT_EQ(plain.integer("SELECT count(*) FROM rounds"), 40);
  EXPECT_EQ(plain.integer("SELECT count(*) FROM records"), 40);
}

TEST(Store, RewindForgetsWhatCameLater) {
  const Home home;
  Store store = Store::open(home.store).value();
  const std::string id = store.create_run(spec()).value();
  ASSERT_TRUE(store.append(id, rounds(0, 4), records(0, 4), Checkpoint{4, "four"}));
  ASSERT_TRUE(store.append(id, rounds(5, 8), records(5, 8), Checkpoint{8, "eight"}));
  // Evaluated within round 5, after four rounds.
  RecordRow inside = records(4, 4).front();
  inside.step = 18;
  ASSERT_TRUE(store.append(id, {}, std::vector{inside}));

  const auto going = store.rewind(id, 4);
  ASSERT_FALSE(going);
  EXPECT_EQ(going.error().code, ErrorCode::kRunFailed);
  EXPECT_THAT(going.error().message, HasSubstr("still computing"));

  ASSERT_TRUE(store.finish(id, RunStatus::kInterrupted, "stopped", summary(), 3));
  ASSERT_TRUE(store.rewind(id, 4));
  EXPECT_TRUE(same_rows(store.rounds(id).value(), rounds(0, 4)));
  EXPECT_TRUE(same_rows(store.records(id).value(), records(0, 4)));
  EXPECT_EQ(store.latest_checkpoint(id).value()->blob, "four");
  const RunRow run = store.get(id).value();
  EXPECT_EQ(run.status, RunStatus::kRunning);
  EXPECT_EQ(run.message, "");
  EXPECT_FALSE(run.summary);
  EXPECT_EQ(run.wall_seconds, 3);
  EXPECT_TRUE(store.append(id, rounds(5, 8), records(5, 8)));

  ASSERT_TRUE(store.set_status(id, RunStatus::kFailed, ""));
  ASSERT_TRUE(store.rewind(id, std::nullopt));
  EXPECT_TRUE(store.rounds(id).value().empty());
  EXPECT_TRUE(store.records(id).value().empty());
  EXPECT_FALSE(store.latest_checkpoint(id).value());
}

TEST(Store, RemovesRunsWithAllTheyHave) {
  const Home home;
  Store store = Store::open(home.store).value();
  std::vector<std::string> ids;
  for (int i = 0; i < 3; ++i) {
    ids.push_back(store.create_run(spec()).value());
    ASSERT_TRUE(store.append(ids.back(), rounds(0, 3), records(0, 3), Checkpoint{3, "three"}));
  }
  const std::string before = contents(home.store);
  EXPECT_THAT(store.remove(ids).error().message, HasSubstr("still computing"));
  for (int i : {0, 1})
    ASSERT_TRUE(store.finish(ids[static_cast<std::size_t>(i)], RunStatus::kDone, "", summary(), 1));
  const std::string finished = contents(home.store);
  EXPECT_NE(before, finished);
  EXPECT_FALSE(store.remove(ids));
  EXPECT_EQ(store.remove(std::vector<std::string>{ids[0], "00000000"}).error().code, ErrorCode::kBadConfig);
  EXPECT_EQ(contents(home.store), finished);
  ASSERT_TRUE(store.remove(std::vector{ids[0], ids[1]}));
  EXPECT_EQ(store.list().value().size(), 1U);
  EXPECT_EQ(store.rounds(ids[2]).value().size(), 4U);
  Connection direct(home.store);
  EXPECT_EQ(direct.integer("SELECT count(*) FROM rounds"), 4);
  EXPECT_EQ(direct.integer("SELECT count(*) FROM records"), 4);
  EXPECT_EQ(direct.integer("SELECT count(*) FROM checkpoints"), 1);
}

TEST(Store, MergesTheRunsThatItDoesNotHave) {
  const Home here, there;
  const std::string large(std::size_t{1} << 21U, 'x');
  Store source = Store::open(there.store).value();
  const std::string done = source.create_run(spec("fl")).value();
  ASSERT_TRUE(source.append(done, rounds(0, 5), records(0, 5), Checkpoint{5, large}));
  ASSERT_TRUE(source.finish(done, RunStatus::kDone, "", summary(), 12.5));
  const std::string stopped = source.create_run(spec("mfl")).value();
  ASSERT_TRUE(source.append(stopped, rounds(0, 3), records(0, 3), Checkpoint{3, "three"}));
  ASSERT_TRUE(source.finish(stopped, RunStatus::kInterrupted, "stopped", summary(), 1));
  const std::string going = source.create_run(spec("gd")).value();

  Store store = Store::open(here.store).value();
  const std::string own = store.create_run(spec("mgd")).value();
  const std::string before = contents(there.store);
  const MergeReport report = store.merge(there.store).value();
  EXPECT_EQ(report.merged, (std::vector{done, stopped}));
  EXPECT_EQ(report.running, std::vector{going});
  EXPECT_TRUE(report.present.empty() && report.conflicting.empty());
  EXPECT_EQ(contents(there.store), before);

  EXPECT_EQ(store.list().value().size(), 3U);
  EXPECT_EQ(store.get("latest").value().id, stopped);
  EXPECT_EQ(store.get("latest~2").value().id, own);
  const RunRow taken = store.get(done).value(), original = source.get(done).value();
  EXPECT_EQ(taken.created, original.created);
  EXPECT_EQ(taken.summary->digest, original.summary->digest);
  EXPECT_EQ(taken.config, original.config);
  for (const std::string& id : {done, stopped}) {
    EXPECT_TRUE(same_rows(store.rounds(id).value(), source.rounds(id).value()));
    EXPECT_TRUE(same_rows(store.records(id).value(), source.records(id).value()));
    EXPECT_EQ(store.latest_checkpoint(id).value()->blob, source.latest_checkpoint(id).value()->blob);
  }
  ASSERT_TRUE(source.remove(std::vector{done}));
  EXPECT_EQ(store.latest_checkpoint(done).value()->blob, large) << "a file of its own";

  const MergeReport again = store.merge(there.store).value();
  EXPECT_EQ(again.present, std::vector{stopped});
  EXPECT_TRUE(again.merged.empty() && again.conflicting.empty());

  ASSERT_TRUE(source.rewind(stopped, 3));
  ASSERT_TRUE(source.finish(stopped, RunStatus::kDone, "", summary(), 2));
  const std::string kept = contents(here.store);
  EXPECT_EQ(store.merge(there.store).value().conflicting, std::vector{stopped});
  EXPECT_EQ(contents(here.store), kept);
}

TEST(Store, TakesOverLaterCopiesOfItsRuns) {
  const Home here, there;
  const std::string large(std::size_t{1} << 21U, 'x');
  Store store = Store::open(here.store).value();
  const std::string first = store.create_run(spec("fl")).value();
  ASSERT_TRUE(store.append(first, rounds(0, 3), records(0, 3), Checkpoint{3, large}));
  ASSERT_TRUE(store.finish(first, RunStatus::kInterrupted, "stopped", summary(), 1));
  const std::string second = store.create_run(spec("mfl")).value();

  Store copy = Store::open(there.store).value();
  ASSERT_TRUE(copy.take_over(here.store, std::vector{first}));
  EXPECT_EQ(copy.list().value().size(), 1U);
  EXPECT_EQ(copy.latest_checkpoint(first).value()->blob, large);
  ASSERT_TRUE(copy.rewind(first, 3));
  ASSERT_TRUE(copy.append(first, rounds(4, 6), records(4, 6), Checkpoint{6, large + "y"}));
  ASSERT_TRUE(copy.finish(first, RunStatus::kDone, "", summary(), 2));

  ASSERT_TRUE(store.take_over(there.store, std::vector{first}));
  EXPECT_EQ(store.list().value().size(), 2U);
  EXPECT_EQ(store.get("latest").value().id, second) << "the order of runs stays";
  EXPECT_EQ(store.get(first).value().status, RunStatus::kDone);
  EXPECT_TRUE(same_rows(store.rounds(first).value(), rounds(0, 6)));
  EXPECT_TRUE(same_rows(store.records(first).value(), records(0, 6)));
  EXPECT_EQ(store.latest_checkpoint(first).value()->blob, large + "y");

  // Another run that has drawn the same id.
  Connection(there.store).run("UPDATE runs SET config_digest = 'another'");
  const std::string before = contents(here.store);
  EXPECT_THAT(store.take_over(there.store, std::vector{first}).error().text(),
              HasSubstr("id of another run"));
  EXPECT_FALSE(store.take_over(there.store, std::vector{second})) << "not there";
  EXPECT_EQ(contents(here.store), before);
}

// Ids are part of the names of files, so a foreign store's could lead anywhere.
TEST(Store, AnIdThatIsNoIdIsRefused) {
  const std::string payload(std::size_t{1} << 21U, 'x');
  const std::vector<std::string> ids{"../../cronjob", "/tmp/cronjob", "0123456", "0123456G", "0123456A", ""};
  for (const std::string& id : ids) {
    SCOPED_TRACE(id);
    const Home here, there;
    {
      Store source = Store::open(there.store).value();
      const std::string run = source.create_run(spec()).value();
      ASSERT_TRUE(source.append(run, rounds(0, 5), records(0, 5), Checkpoint{5, payload}));
      ASSERT_TRUE(source.finish(run, RunStatus::kDone, "", summary(), 1));
      Connection(there.store).run("UPDATE runs SET id = '" + id + "'");
    }
    ASSERT_TRUE(write_file(there.folder.path() / "cronjob-5", payload));
    Store store = Store::open(here.store).value();
    (void)store.create_run(spec()).value();
    const std::string before = contents(here.store);
    for (const auto& error :
         {store.merge(there.store).error(), store.take_over(there.store, std::vector{id}).error(),
          Store::open(there.store, {.read_only = true})->list().error()})
      EXPECT_THAT(error.text(), HasSubstr("not 8 hexadecimal digits"));
    EXPECT_EQ(contents(here.store), before);
    EXPECT_FALSE(std::filesystem::exists(here.folder.path() / "cronjob-5"));
  }
}

TEST(Store, NoTriggerOrViewOfAForeignStoreRuns) {
  const Home home;
  (void)Store::open(home.store).value().create_run(spec("fl")).value();
  Connection(home.store)
      .run("CREATE TRIGGER t AFTER INSERT ON runs BEGIN UPDATE runs SET name = 'owned'; END");
  {
    Store store = Store::open(home.store).value();
    (void)store.create_run(spec("mfl")).value();
    const auto runs = store.list().value();
    for (const RunRow& run : runs) EXPECT_EQ(run.name, spec().name);
  }
  Connection(home.store)
      .run(
          "ALTER TABLE records RENAME TO hidden; CREATE VIEW records AS SELECT * FROM hidden; CREATE TABLE "
          "ninth (x)");
  const auto store = Store::open(home.store, {.read_only = true});
  EXPECT_FALSE(store && store->records("latest")) << "a view in place of a table";
}

TEST(Store, MergesNothingButStores) {
  const Home home;
  Store store = Store::open(home.store).value();
  (void)store.create_run(spec()).value();
  const std::string before = contents(home.store);
  EXPECT_EQ(store.merge(home.store).error().code, ErrorCode::kBadConfig);
  EXPECT_FALSE(store.merge(home.folder.path() / "nowhere.db"));
  EXPECT_FALSE(std::filesystem::exists(home.folder.path() / "nowhere.db"));
  std::ofstream(home.folder.path() / "text.db") << "not a store";
  EXPECT_FALSE(store.merge(home.folder.path() / "text.db"));
  EXPECT_EQ(contents(home.store), before);
  EXPECT_TRUE(store.create_run(spec())) << "nothing is left attached or open";
}

// Two nodes, the second of which misses every other round.
std::vector<NodeRow> nodes(std::uint64_t first, std::uint64_t last) {
  std::vector<NodeRow> out;
  for (std::uint64_t round = first; round <= last; ++round) {
    out.push_back({round, "a", 3, 1.0 / static_cast<double>(round), 0.5});
    if (round % 2 == 0)
      out.push_back({round, "b, \"the second\"", 5, 1.0 / static_cast<double>(round), std::nullopt});
  }
  return out;
}

TEST(Store, NodesAreKeptWithTheirRoundMergedRewoundAndDeleted) {
  const Home here, there;
  Store store = Store::open(here.store).value();
  const std::string id = store.create_run(spec()).value();
  EXPECT_TRUE(store.nodes(id)->empty());
  for (std::uint64_t round = 1; round <= 4; ++round)
    ASSERT_TRUE(store.append(id, rounds(round - 1, round - 1), {}, Checkpoint{round, "state", 0},
                             nodes(round, round)));
  EXPECT_EQ(store.nodes(id).value(), nodes(1, 4));
  EXPECT_FALSE(store.append(id, rounds(4, 4), {}, std::nullopt, nodes(4, 4)))
      << "a node counts once per round";
  EXPECT_EQ(store.rounds(id)->size(), 4U) << "all or nothing";
  EXPECT_FALSE(store.append(id, rounds(3, 3), {}, std::nullopt, nodes(5, 5)));
  EXPECT_EQ(store.nodes(id)->size(), nodes(1, 4).size());
  ASSERT_TRUE(store.finish(id, RunStatus::kInterrupted, "", std::nullopt, 1));
  Store other = Store::open(there.store).value();
  ASSERT_TRUE(other.merge(here.store));
  EXPECT_EQ(other.nodes(id).value(), nodes(1, 4));
  ASSERT_TRUE(store.rewind(id, 2));
  ASSERT_TRUE(store.forget_row(id, 2));
  EXPECT_EQ(store.nodes(id).value(), nodes(1, 2)) << "round 2 is committed; only its loss is not known";
  ASSERT_TRUE(other.remove(std::vector{id}));
  EXPECT_EQ(Connection(there.store).integer("SELECT count(*) FROM nodes"), 0);
}

TEST(Store, NodesOfAnOlderStoreAreNoneAfterAMerge) {
  const Home here, there;
  std::string id;
  {
    Store old = Store::open(there.store).value();
    id = old.create_run(spec()).value();
    ASSERT_TRUE(old.finish(id, RunStatus::kDone, "", summary(), 1));
  }
  Connection(there.store).run("DROP TABLE nodes; PRAGMA user_version = 5");
  Store store = Store::open(here.store).value();
  ASSERT_TRUE(store.merge(there.store));
  EXPECT_TRUE(store.nodes(id)->empty());
}

TEST(Store, MetricsByClassArePartOfTheSummary) {
  const Home here, there;
  Store store = Store::open(here.store).value();
  const std::string id = store.create_run(spec()).value();
  RunSummary tested = summary();
  tested.test_metrics = R"({"samples":3,"confusion":[[1,1],[0,1]]})";
  ASSERT_TRUE(store.finish(id, RunStatus::kInterrupted, "", tested, 1));
  EXPECT_EQ(store.get(id)->summary->test_metrics, tested.test_metrics);
  EXPECT_EQ(store.list()->front().summary->test_metrics, "") << "a list may have many of them";
  EXPECT_EQ(store.list()->front().summary->digest, tested.digest);
  Store other = Store::open(there.store).value();
  ASSERT_TRUE(other.merge(here.store));
  EXPECT_EQ(other.get(id)->summary->test_metrics, tested.test_metrics);
  ASSERT_TRUE(store.rewind(id, std::nullopt));
  ASSERT_TRUE(store.finish(id, RunStatus::kDone, "", summary(), 1));
  EXPECT_EQ(store.get(id)->summary->test_metrics, "");
}

}  // namespace
}  // namespace mfl::test
