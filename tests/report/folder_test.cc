#include "mfl/report/folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <vector>

#include "mfl/report/page.h"

namespace mfl {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

std::size_t entries(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), {}));
}

void publish(const fs::path& target, const std::string& data) {
  auto folder = ReportFolder::make(target);
  ASSERT_TRUE(folder) << folder.error().text();
  ASSERT_TRUE(folder->write("report.html", page_html({.title = data, .lead = "", .sections = {}})));
  ASSERT_TRUE(folder->write("data/a.csv", data));
  EXPECT_NE(read_file(target / "data" / "a.csv").value_or(""), data) << "nothing is there before it is whole";
  const auto published = folder->publish();
  ASSERT_TRUE(published) << published.error().text();
}

TEST(ReportFolder, AppearsWholeAndReplacesAnEarlierReport) {
  const auto home = TempFolder::make();
  const fs::path target = home->path() / "deep" / "report";
  fs::create_directories(target);  // empty: ours to take
  fs::remove(target);
  publish(target, "one");
  EXPECT_EQ(*read_file(target / "data" / "a.csv"), "one");
  publish(target, "two");
  EXPECT_EQ(*read_file(target / "data" / "a.csv"), "two");
  publish(target / "", "three");
  EXPECT_EQ(*read_file(target / "data" / "a.csv"), "three");
  EXPECT_EQ(entries(target), 2U);
  EXPECT_EQ(entries(target.parent_path()), 1U) << "nothing is left beside it";
  EXPECT_EQ(fs::status(target).permissions() & fs::perms::owner_all, fs::perms::owner_all);
}

TEST(ReportFolder, TakesAnEmptyFolderAndNoOther) {
  const auto home = TempFolder::make();
  const fs::path target = home->path() / "out";
  fs::create_directory(target);
  publish(target, "one");
  ASSERT_TRUE(write_file(target / "notes.txt", "mine"));
  const auto refused = ReportFolder::make(target);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kBadConfig);
  EXPECT_THAT(refused.error().message, HasSubstr(target.string()));
  ASSERT_TRUE(write_file(home->path() / "file", "x"));
  EXPECT_FALSE(ReportFolder::make(home->path() / "file"));
  EXPECT_FALSE(ReportFolder::make(home->path() / "file" / "below"));
  EXPECT_FALSE(ReportFolder::make(""));
  EXPECT_EQ(entries(home->path()), 2U);
}

TEST(ReportFolder, ARelativeNameIsBelowTheWorkingDirectory) {
  const auto home = TempFolder::make();
  const fs::path before = fs::current_path();
  fs::current_path(home->path());
  publish("out", "one");
  fs::current_path(before);
  EXPECT_EQ(*read_file(home->path() / "out" / "data" / "a.csv"), "one");
}

TEST(ReportFolder, WithoutPublishNothingStays) {
  const auto home = TempFolder::make();
  {
    auto folder = ReportFolder::make(home->path() / "out");
    ASSERT_TRUE(folder->write("report.html", "half"));
    EXPECT_EQ(entries(home->path()), 1U);
  }
  EXPECT_EQ(entries(home->path()), 0U);
}

TEST(ReportFolder, AFullDiskIsAnErrorAndLeavesTheEarlierReport) {
  const auto home = TempFolder::make();
  publish(home->path() / "out", "one");
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  Result<void> written;
  {
    auto folder = ReportFolder::make(home->path() / "out");
    const rlimit small{64, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    written = folder->write("report.html", std::string(4096, 'x'));
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  }
  (void)std::signal(SIGXFSZ, handler);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::kRunFailed);
  EXPECT_THAT(written.error().hint, HasSubstr("space"));
  EXPECT_EQ(*read_file(home->path() / "out" / "data" / "a.csv"), "one");
  EXPECT_EQ(entries(home->path()), 1U);
}

TEST(ReportFolder, AnUnwritablePlaceIsAnError) {
  const auto folder = ReportFolder::make("/proc/mfl/report");
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().code, ErrorCode::kRunFailed);
  EXPECT_THAT(folder.error().message, HasSubstr("/proc/mfl"));
}

}  // namespace
}  // namespace mfl
