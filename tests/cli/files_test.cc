// Outputs and inputs that are not regular files, end to end.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process.h"

namespace mfl::test {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> tiny_run(std::vector<std::string> more) {
  std::vector<std::string> args{"run", "--data", "synthetic:40x8", "--steps", "8", "--test", "0", "--json"};
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

TEST(Outputs, MissingFoldersAreMade) {
  const Sandbox box;
  ok_data(box.run(tiny_run({"--store", "s/t/runs.db", "--weights-out", "a/b/w.npy"})));
  EXPECT_TRUE(fs::is_regular_file(box.path("s/t/runs.db")));
  EXPECT_TRUE(fs::is_regular_file(box.path("a/b/w.npy")));
  ok_data(box.run({"runs", "export", "latest", "--store", "s/t/runs.db", "--out", "c/d/x.csv", "--json"}));
  EXPECT_TRUE(fs::is_regular_file(box.path("c/d/x.csv")));
}

TEST(Outputs, SymbolicLinksStay) {
  const Sandbox box;
  box.write("there/w.npy", "old");
  fs::create_symlink("there/w.npy", box.path("w.npy"));
  fs::create_symlink("there/x.csv", box.path("x.csv"));
  ok_data(box.run(tiny_run({"--weights-out", "w.npy"})));
  ok_data(box.run({"runs", "export", "latest", "--out", "x.csv", "--json"}));
  EXPECT_TRUE(fs::is_symlink(box.path("w.npy")));
  EXPECT_TRUE(fs::is_symlink(box.path("x.csv")));
  EXPECT_THAT(box.read("there/w.npy"), ::testing::StartsWith("\x93NUMPY"));
  EXPECT_THAT(box.read("there/x.csv"), ::testing::HasSubstr("train_loss"));
}

TEST(Outputs, AFifoCarriesWeightsAndExports) {
  const Sandbox box;
  const fs::path fifo = box.path("fifo");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const int reader = ::open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  char bytes[1 << 15];
  const auto received = [&] {
    const ssize_t n = ::read(reader, bytes, sizeof bytes);
    return n > 0 ? std::string(bytes, static_cast<std::size_t>(n)) : std::string();
  };
  ok_data(box.run(tiny_run({"--weights-out", "fifo"})));
  EXPECT_THAT(received(), ::testing::StartsWith("\x93NUMPY"));
  ok_data(box.run({"runs", "export", "latest", "--out", "fifo", "--json"}));
  EXPECT_THAT(received(), ::testing::HasSubstr("train_loss"));
  EXPECT_TRUE(fs::is_fifo(fifo));
  ::close(reader);
  expect_error(box.run({"runs", "export", "latest", "--out", "fifo"}), 1,
               {"cannot write fifo: no process reads from it"});
}

TEST(Inputs, FifosAreRefusedAndNotWaitedFor) {
  const Sandbox box;
  ASSERT_EQ(::mkfifo(box.path("fifo").c_str(), 0600), 0);
  const std::vector<std::string> run{"run", "--quiet", "--steps", "4", "--nodes", "1", "--data"};
  const auto with = [&](std::vector<std::string> more) {
    std::vector<std::string> args = run;
    args.insert(args.end(), more.begin(), more.end());
    return box.run(args);
  };
  expect_error(with({"csv:fifo"}), 3, {"cannot read fifo: it is a FIFO"});
  expect_error(with({"libsvm:fifo"}), 3, {"cannot read fifo: it is a FIFO"});
  expect_error(with({"synthetic:40x8", "--partition", "file:fifo"}), 3, {"cannot read fifo: it is a FIFO"});
  expect_error(box.run({"run", "fifo"}), 2, {"fifo: it is a FIFO"});
  expect_error(box.run({"runs", "list", "--store", "fifo"}), 1, {"fifo: it is not a regular file"});
  expect_error(with({"synthetic:40x8", "--store", "fifo"}), 1, {"fifo: it is not a regular file"});
  EXPECT_TRUE(fs::is_fifo(box.path("fifo")));
}

}  // namespace
}  // namespace mfl::test
