// One process per folder: the lock, and the witness of committed rounds beside it.
#include "mfl/record/folder_lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "mfl/base/files.h"
#include "mfl/record/progress.h"

namespace mfl::test {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

// A child that takes the lock of `folder` and holds it until it is killed.
pid_t start_holder(const std::filesystem::path& folder) {
  int ready[2] = {-1, -1};
  EXPECT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto lock = FolderLock::acquire(folder, milliseconds(0));
    const char answer = lock ? 'y' : 'n';
    if (::write(ready[1], &answer, 1) == 1)
      for (;;) ::pause();
    ::_exit(1);
  }
  char answer = '?';
  EXPECT_EQ(::read(ready[0], &answer, 1), 1);
  EXPECT_EQ(answer, 'y');
  ::close(ready[0]);
  ::close(ready[1]);
  return child;
}

void end(pid_t child) {
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

TEST(FolderLock, KeepsOutEverybodyElse) {
  const auto folder = TempFolder::make().value();
  {
    const auto lock = FolderLock::acquire(folder.path(), milliseconds(0));
    ASSERT_TRUE(lock) << lock.error().text();
    EXPECT_TRUE(lock->check());
    struct stat info = {};
    ASSERT_EQ(::stat((folder.path() / "lock").c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777U, 0600U);
    const auto second = FolderLock::acquire(folder.path(), milliseconds(0));
    ASSERT_FALSE(second) << "not even in the same process";
    EXPECT_EQ(second.error().code, ErrorCode::kBadConfig);
    EXPECT_THAT(second.error().message, HasSubstr(folder.path().string() + " is served by process " +
                                                  std::to_string(::getpid()) + " on "));
    EXPECT_THAT(second.error().hint, HasSubstr("--state"));
  }
  EXPECT_TRUE(FolderLock::acquire(folder.path(), milliseconds(0)));
}

TEST(FolderLock, EndsWithAProcessThatIsKilled) {
  const auto folder = TempFolder::make().value();
  const pid_t child = start_holder(folder.path());
  const auto refused = FolderLock::acquire(folder.path(), milliseconds(0));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("process " + std::to_string(child)));
  end(child);
  EXPECT_TRUE(FolderLock::acquire(folder.path(), milliseconds(0)));
}

TEST(FolderLock, WaitsForAnOwnerThatEnds) {
  const auto folder = TempFolder::make().value();
  const pid_t child = start_holder(folder.path());
  std::string owner;
  std::thread killer([&] {
    std::this_thread::sleep_for(milliseconds(100));
    end(child);
  });
  EXPECT_TRUE(
      FolderLock::acquire(folder.path(), milliseconds(20'000), [&](const std::string& who) { owner = who; }));
  killer.join();
  EXPECT_THAT(owner, HasSubstr("process " + std::to_string(child)));
}

TEST(FolderLock, NoticesThatItsFileWasDeletedOrReplaced) {
  const auto folder = TempFolder::make().value();
  const auto lock = FolderLock::acquire(folder.path(), milliseconds(0));
  ASSERT_TRUE(lock);
  std::filesystem::remove(folder.path() / "lock");
  ASSERT_FALSE(lock->check());
  EXPECT_THAT(lock->check().error().message, HasSubstr("was deleted or replaced"));
  const auto other = FolderLock::acquire(folder.path(), milliseconds(0));
  EXPECT_TRUE(other);
  EXPECT_FALSE(lock->check());
}

TEST(FolderLock, SaysWhyThereIsNone) {
  const auto folder = TempFolder::make().value();
  const auto missing = FolderLock::acquire(folder.path() / "missing", milliseconds(0));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kRunFailed);
  EXPECT_THAT(missing.error().message, HasSubstr("No such file"));
}

TEST(ProgressFile, RemembersTheLastRound) {
  const auto folder = TempFolder::make().value();
  const auto path = folder.path() / "progress";
  const std::string digest(32, 'd');
  {
    auto file = ProgressFile::open(path).value();
    EXPECT_FALSE(file.exists());
    EXPECT_FALSE(file.last());
    ASSERT_TRUE(file.reset({"0123abcd", 0, ""}));
    for (std::uint64_t round = 1; round <= 7; ++round) ASSERT_TRUE(file.note({"0123abcd", round, digest}));
  }
  {
    auto file = ProgressFile::open(path).value();
    EXPECT_TRUE(file.exists());
    EXPECT_EQ(file.damaged(), 0);
    EXPECT_EQ(file.last(), (CommittedMark{"0123abcd", 7, digest}));
    ASSERT_TRUE(file.reset({"0123abcd", 3, ""}));  // back
  }
  EXPECT_EQ(ProgressFile::open(path)->last(), (CommittedMark{"0123abcd", 3, ""}));
}

TEST(ProgressFile, OneDamagedBitLeavesTheOtherSlot) {
  const auto folder = TempFolder::make().value();
  const auto path = folder.path() / "progress";
  for (const std::uint64_t last : {8, 9}) {
    {
      auto file = ProgressFile::open(path).value();
      ASSERT_TRUE(file.reset({"0123abcd", 0, ""}));
      for (std::uint64_t round = 1; round <= last; ++round)
        ASSERT_TRUE(file.note({"0123abcd", round, std::string(32, 'd')}));
    }
    const std::string whole = read_file(path).value();
    ASSERT_EQ(whole.size(), 1024U);
    for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
      std::string bytes = whole;
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
      std::ofstream(folder.path() / "flipped", std::ios::binary) << bytes;
      const auto file = ProgressFile::open(folder.path() / "flipped").value();
      ASSERT_TRUE(file.last()) << bit;
      EXPECT_GE(file.last()->round, last - 1);
      EXPECT_EQ(file.last()->run, "0123abcd");
      EXPECT_EQ(file.damaged(), bit / 8 % 512 < 96 ? 1 : 0) << bit;
      bit += bit / 8 % 512 < 96 ? 0 : 100;
    }
  }
  for (const std::string& bytes : {std::string(), std::string("x"), std::string(1024, '\0')}) {
    ASSERT_TRUE(write_file(path, bytes));
    const auto file = ProgressFile::open(path).value();
    EXPECT_TRUE(file.exists());
    EXPECT_FALSE(file.last());
    EXPECT_EQ(file.damaged(), 2);
  }
}

}  // namespace
}  // namespace mfl::test
