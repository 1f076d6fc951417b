// Stores that are locked, damaged, foreign, too new, full or unreachable: each gives one clear error and leaves the
// store unchanged.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>

#include "mfl/record/store.h"
#include "tests/record/support.h"

namespace mfl::test {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

const StoreOptions kImpatient{.busy_timeout = milliseconds(20)};
const StoreOptions kReader{.read_only = true, .busy_timeout = milliseconds(20)};

struct Filled : Home {
  std::string id;
  Filled() {
    Store opened = Store::open(store).value();
    id = opened.create_run(spec()).value();
    if (!opened.append(id, rounds(0, 200), records(0, 200), Checkpoint{200, std::string(20000, 's')}))
      throw std::runtime_error("cannot fill a store");
  }
};

void expect_clear(const Error& error, const std::filesystem::path& path, const std::string& words) {
  EXPECT_EQ(error.code, ErrorCode::kRunFailed);
  EXPECT_THAT(error.text(), HasSubstr(path.string()));
  EXPECT_THAT(error.text(), HasSubstr(words));
  EXPECT_EQ(error.text().find('\n'), std::string::npos);
  EXPECT_FALSE(error.first_hint().empty());
}

void expect_refused(const std::filesystem::path& path, const std::string& words) {
  const std::string before = read_file(path).value();
  for (const StoreOptions& options : {kImpatient, kReader}) {
    const auto opened = Store::open(path, options);
    ASSERT_FALSE(opened);
    expect_clear(opened.error(), path, words);
    EXPECT_EQ(read_file(path).value(), before);
  }
}

TEST(StoreFailure, AMissingStoreIsNotMadeByReading) {
  const Home home;
  const auto opened = Store::open(home.store, kReader);
  ASSERT_FALSE(opened);
  expect_clear(opened.error(), home.store, "no store");
  EXPECT_EQ(opened.error().hint, "nothing has been recorded yet; run: mfl run");
  EXPECT_FALSE(std::filesystem::exists(home.store.parent_path()));
}

TEST(StoreFailure, AnEmptyFileBecomesAStore) {
  const Home home;
  const auto path = home.folder.path() / "empty.db";
  ASSERT_TRUE(write_file(path, ""));
  const auto read = Store::open(path, kReader);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().hint, "nothing has been recorded yet; run: mfl run");
  EXPECT_TRUE(Store::open(path));
  EXPECT_TRUE(Store::open(path, kReader));
}

TEST(StoreFailure, AReaderCannotWrite) {
  const Filled home;
  Store store = Store::open(home.store, kReader).value();
  EXPECT_EQ(store.create_run(spec()).error().code, ErrorCode::kRunFailed);
  EXPECT_FALSE(store.set_status(home.id, RunStatus::kFailed, ""));
  EXPECT_EQ(store.get(home.id).value().status, RunStatus::kRunning);
}

TEST(StoreFailure, Locked) {
  const Filled home;
  const std::string before = contents(home.store);
  Store store = Store::open(home.store, kImpatient).value();
  {
    Connection other(home.store);
    other.run("BEGIN EXCLUSIVE");
    const auto appended = store.append(home.id, rounds(201, 202), {});
    ASSERT_FALSE(appended);
    expect_clear(appended.error(), home.store, "locked");
    ASSERT_FALSE(store.create_run(spec()));
    EXPECT_FALSE(store.finish(home.id, RunStatus::kDone, "", {}, 0));
    EXPECT_FALSE(store.rewind(home.id, 0));
    EXPECT_EQ(contents(home.store), before);
  }
  EXPECT_TRUE(store.append(home.id, rounds(201, 202), {}));
}

TEST(StoreFailure, LockedForReadersToo) {
  const Filled home;
  const std::string before = contents(home.store);
  {
    Connection other(home.store);
    other.run("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE");
    for (const StoreOptions& options : {kImpatient, kReader}) {
      const auto opened = Store::open(home.store, options);
      ASSERT_FALSE(opened);
      expect_clear(opened.error(), home.store, "locked");
    }
    other.run("ROLLBACK");
  }
  EXPECT_EQ(contents(home.store), before);
}

TEST(StoreFailure, Garbage) {
  const Home home;
  const auto path = home.folder.path() / "runs.db";
  ASSERT_TRUE(write_file(path, std::string(5000, 'x')));
  expect_refused(path, "not a store");
  ASSERT_TRUE(write_file(path, "short"));
  expect_refused(path, "not a store");
}

TEST(StoreFailure, CutShort) {
  const Filled home;
  const std::string whole = read_file(home.store).value();
  ASSERT_GT(whole.size(), 3U * 4096U);
  ASSERT_TRUE(write_file(home.store, whole.substr(0, 2 * 4096)));
  // The size in the header is no longer true.
  const auto opened = Store::open(home.store, kReader);
  const auto listed =
      opened ? opened->rounds(home.id).map([](auto&&) {}) : Result<void>(tl::unexpected(opened.error()));
  ASSERT_FALSE(listed);
  expect_clear(listed.error(), home.store, "damaged");
}

TEST(StoreFailure, NoOverwrittenPageCrashesOrGivesWhatWasNotWritten) {
  const Filled home;
  const std::string whole = read_file(home.store).value();
  const auto wanted = rounds(0, 200);
  std::size_t refused = 0;
  for (std::size_t page = 0; page * 4096 < whole.size(); ++page) {
    std::string harmed = whole;
    std::fill_n(harmed.begin() + static_cast<std::ptrdiff_t>(page * 4096), 4096, '\xff');
    ASSERT_TRUE(write_file(home.store, harmed));
    const auto opened = Store::open(home.store, kReader);
    const auto read =
        opened ? opened->rounds(home.id) : Result<std::vector<RoundRow>>(tl::unexpected(opened.error()));
    if (!read) {
      ++refused;
      EXPECT_FALSE(read.error().message.empty());
      continue;
    }
    ASSERT_EQ(read->size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_TRUE(same((*read)[i], wanted[i]));
  }
  EXPECT_GT(refused, 0U);
}

TEST(StoreFailure, AHarmedPageOfTheNewestCheckpointLeavesThePreviousOne) {
  const Filled home;
  const std::string newest(20000, 'n');
  ASSERT_TRUE(Store::open(home.store).value().append(home.id, {}, {}, Checkpoint{300, newest}));
  std::string bytes = read_file(home.store).value();
  const auto at = bytes.find(std::string(4000, 'n'));
  ASSERT_NE(at, std::string::npos);
  bytes[at + 100] = 'x';
  ASSERT_TRUE(write_file(home.store, bytes));
  const auto kept = Store::open(home.store, kReader).value().latest_checkpoint(home.id).value();
  EXPECT_EQ(kept->round, 200U);
  EXPECT_EQ(kept->blob, std::string(20000, 's'));
  EXPECT_EQ(kept->damaged, 1U);
}

TEST(StoreFailure, Foreign) {
  const Home home;
  const auto path = home.folder.path() / "other.db";
  Connection(path).run("CREATE TABLE songs (title)");
  expect_refused(path, "not an mfl store");
  Connection(path).run("PRAGMA application_id = 77; DROP TABLE songs");
  expect_refused(path, "not an mfl store");
}

TEST(StoreFailure, Newer) {
  const Filled home;
  Connection(home.store).run("PRAGMA user_version = 11");
  expect_refused(home.store, "schema version 11");
  Connection(home.store).run("PRAGMA user_version = 2");
  EXPECT_EQ(Store::open(home.store, kReader).value().rounds(home.id).value().size(), 201U);
}

TEST(StoreFailure, TablesMissing) {
  const Filled home;
  Connection(home.store).run("DROP TABLE rounds");
  expect_refused(home.store, "8 of 9 tables");
}

TEST(StoreFailure, UnknownStatus) {
  const Filled home;
  Connection(home.store).run("PRAGMA ignore_check_constraints = ON; UPDATE runs SET status = 'odd'");
  const auto listed = Store::open(home.store, kReader).value().list();
  ASSERT_FALSE(listed);
  expect_clear(listed.error(), home.store, "status \"odd\"");
}

// Below a regular file, so that it fails for root as well.
TEST(StoreFailure, AFolderThatCannotBeMade) {
  const Home home;
  const auto file = home.folder.path() / "file";
  ASSERT_TRUE(write_file(file, "keep"));
  const auto opened = Store::open(file / "runs.db", kImpatient);
  ASSERT_FALSE(opened);
  expect_clear(opened.error(), file / "runs.db", "cannot create store");
  EXPECT_EQ(read_file(file).value(), "keep");
}

// The error of opening `path` as a user without privileges, in words.
std::string error_for_a_user(const std::filesystem::path& path, const StoreOptions& options) {
  int pipe[2];
  EXPECT_EQ(::pipe(pipe), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::geteuid() == 0 && ::setuid(65'534) != 0) ::_exit(1);
    const auto opened = Store::open(path, options);
    const std::string text = opened ? "opened" : opened.error().text() + "; " + opened.error().hint;
    ::_exit(::write(pipe[1], text.data(), text.size()) < 0 ? 1 : 0);
  }
  ::close(pipe[1]);
  char text[1024];
  const ssize_t n = ::read(pipe[0], text, sizeof text);
  ::close(pipe[0]);
  EXPECT_EQ(::waitpid(child, nullptr, 0), child);
  return n > 0 ? std::string(text, static_cast<std::size_t>(n)) : "(nothing)";
}

TEST(StoreFailure, AMissingPermissionIsNamed) {
  using std::filesystem::perms;
  const Filled home;
  std::filesystem::permissions(home.folder.path(), perms(0755));
  const auto folder = home.store.parent_path();
  const auto expect_denied = [](const std::filesystem::path& path) {
    for (const StoreOptions& options : {kImpatient, kReader}) {
      const std::string said = error_for_a_user(path, options);
      EXPECT_THAT(said, HasSubstr("Permission denied"));
      EXPECT_THAT(said, ::testing::Not(HasSubstr("No such file")));
      EXPECT_THAT(said, HasSubstr(path.string()));
    }
  };
  std::filesystem::permissions(folder, perms(0000));
  expect_denied(home.store);
  std::filesystem::permissions(folder, perms(0755));
  std::filesystem::permissions(home.store, perms(0000));
  expect_denied(home.store);
  std::filesystem::permissions(folder, perms(0555));
  const std::string said = error_for_a_user(folder / "new.db", kImpatient);
  EXPECT_THAT(said, HasSubstr("cannot create store " + (folder / "new.db").string()));
  EXPECT_THAT(said, HasSubstr("Permission denied; check the permissions"));
  std::filesystem::permissions(folder, perms(0755));
}

TEST(StoreFailure, AFifoInItsPlaceIsNotWaitedFor) {
  const Home home;
  ASSERT_TRUE(make_folder(home.store.parent_path()));
  ASSERT_EQ(::mkfifo(home.store.c_str(), 0600), 0);
  for (const StoreOptions& options : {kImpatient, kReader}) {
    const auto opened = Store::open(home.store, options);
    ASSERT_FALSE(opened);
    expect_clear(opened.error(), home.store, "is not a regular file");
  }
}

TEST(StoreFailure, AFolderInItsPlace) {
  const Home home;
  ASSERT_TRUE(make_folder(home.store));
  for (const StoreOptions& options : {kImpatient, kReader}) {
    const auto opened = Store::open(home.store, options);
    ASSERT_FALSE(opened);
    expect_clear(opened.error(), home.store, "is a folder");
  }
}

TEST(StoreFailure, FullByItsLimit) {
  const Filled home;
  const std::string before = contents(home.store);
  Store store = Store::open(home.store, {.max_pages = 40}).value();
  const auto appended =
      store.append(home.id, rounds(201, 300), records(201, 300), Checkpoint{300, std::string(400000, 'b')});
  ASSERT_FALSE(appended);
  expect_clear(appended.error(), home.store, "no space left");
  EXPECT_EQ(contents(home.store), before);
  EXPECT_TRUE(store.append(home.id, rounds(201, 202), records(201, 202)));
  EXPECT_EQ(store.rounds(home.id).value().size(), 203U);
}

// As a process leaves it that is killed while it makes a store.
TEST(StoreFailure, AJournalThatWasLeftBehindIsRolledBackForAReader) {
  const Home home;
  const std::string id = Store::open(home.store).value().create_run(spec()).value();
  const auto killed = home.folder.path() / "killed.db";
  {
    Connection writer(home.store);
    writer.run("PRAGMA journal_mode = DELETE; PRAGMA cache_size = 1; BEGIN IMMEDIATE");
    writer.run("UPDATE runs SET name = 'half', config = hex(zeroblob(100000))");
    std::filesystem::copy(home.store, killed);
    std::filesystem::copy(home.store.string() + "-journal", killed.string() + "-journal");
  }
  const auto store = Store::open(killed, kReader);
  ASSERT_TRUE(store) << store.error().text();
  EXPECT_EQ(store->get(id).value().name, spec().name);
  EXPECT_FALSE(std::filesystem::exists(killed.string() + "-journal"));
}

TEST(StoreFailure, NoSpaceForANewStore) {
  const Home home;
  const auto opened = Store::open(home.store, {.max_pages = 2});
  ASSERT_FALSE(opened);
  expect_clear(opened.error(), home.store, "no space left");
  EXPECT_EQ(read_file(home.store).value(), "");
  EXPECT_TRUE(Store::open(home.store));
}

// The system refuses to let files grow, as it does on a full disk. In a child: the limit cannot be lifted
// again.
TEST(StoreFailure, TheSystemRefusesToWrite) {
  const Filled home;
  const std::string before = contents(home.store);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const rlimit limit{200000, 200000};
    ::signal(SIGXFSZ, SIG_IGN);
    auto store = Store::open(home.store);
    if (!store || ::setrlimit(RLIMIT_FSIZE, &limit) != 0) ::_exit(2);
    const auto appended =
        store->append(home.id, rounds(201, 300), {}, Checkpoint{300, std::string(4000000, 'b')});
    if (appended) ::_exit(3);
    if (appended.error().code != ErrorCode::kRunFailed || appended.error().hint.empty()) ::_exit(4);
    if (store->rounds(home.id).value().size() != 201) ::_exit(5);
    ::_exit(0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(contents(home.store), before);
}

}  // namespace
}  // namespace mfl::test
