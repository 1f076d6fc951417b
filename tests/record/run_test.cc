#include "mfl/record/run.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace mfl {
namespace {

RunRow owned_by(Owner owner) {
  RunRow run;
  run.owner = std::move(owner);
  return run;
}

TEST(RunStatus, NamesGoBothWays) {
  for (const auto status : {RunStatus::kRunning, RunStatus::kDone, RunStatus::kDiverged,
                            RunStatus::kInterrupted, RunStatus::kFailed})
    EXPECT_EQ(parse_run_status(run_status_name(status)), status);
  EXPECT_EQ(run_status_name(RunStatus::kInterrupted), "interrupted");
  EXPECT_FALSE(parse_run_status("Done"));
  EXPECT_FALSE(parse_run_status(""));
}

TEST(Owner, ThisProcessIsAlive) {
  const Owner self = this_process();
  EXPECT_EQ(self.pid, ::getpid());
  EXPECT_GT(self.start, 0U);
  EXPECT_FALSE(self.host.empty());
  EXPECT_TRUE(owner_alive(owned_by(self)));
  EXPECT_FALSE(owner_lost(owned_by(self)));
}

TEST(Owner, AReusedPidIsAnotherProcess) {
  Owner other = this_process();
  ++other.start;
  EXPECT_FALSE(owner_alive(owned_by(other)));
  EXPECT_TRUE(owner_lost(owned_by(other)));
}

TEST(Owner, OtherHostsAreNotJudged) {
  Owner other = this_process();
  other.host += "-elsewhere";
  EXPECT_FALSE(owner_alive(owned_by(other)));
  EXPECT_FALSE(owner_lost(owned_by(other)));
}

TEST(Owner, NoProcessIsNotAlive) {
  Owner nobody = this_process();
  for (const std::int64_t pid : {0, -1}) {
    nobody.pid = pid;
    EXPECT_FALSE(owner_alive(owned_by(nobody)));
  }
}

TEST(Owner, AKilledChildIsLostEvenBeforeItIsWaitedFor) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const Owner self = this_process();
    const ssize_t written = ::write(ready[1], &self.start, sizeof self.start);
    for (;;) written < 0 ? ::_exit(1) : static_cast<void>(::pause());
  }
  Owner owner = this_process();
  owner.pid = child;
  ASSERT_EQ(::read(ready[0], &owner.start, sizeof owner.start), static_cast<ssize_t>(sizeof owner.start));
  EXPECT_TRUE(owner_alive(owned_by(owner)));
  ASSERT_EQ(::kill(child, SIGKILL), 0);
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_FALSE(owner_alive(owned_by(owner)));
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_FALSE(owner_alive(owned_by(owner)));
  EXPECT_TRUE(owner_lost(owned_by(owner)));
  ::close(ready[0]);
  ::close(ready[1]);
}

}  // namespace
}  // namespace mfl
