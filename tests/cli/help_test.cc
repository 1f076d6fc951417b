#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "process.h"

namespace mfl::test {
namespace {

using ::testing::HasSubstr;

const std::vector<std::vector<std::string>> kCommands = {
    {},
    {"run"},
    {"sweep"},
#ifdef MFL_NETWORK
    {"server"},
    {"server", "status"},
    {"node"},
    {"certs"},
    {"certs", "init"},
    {"certs", "server"},
    {"certs", "node"},
    {"certs", "list"},
    {"certs", "renew"},
    {"certs", "revoke"},
    {"demo"},
    {"demo", "federation"},
#endif
    {"reproduce"},
    {"report"},
    {"theory"},
    {"theory", "run"},
    {"theory", "h"},
    {"theory", "advise"},
    {"data"},
    {"data", "fetch"},
    {"data", "info"},
    {"data", "split"},
    {"runs"},
    {"runs", "list"},
    {"runs", "show"},
    {"runs", "compare"},
    {"runs", "export"},
    {"runs", "merge"},
    {"runs", "delete"},
    {"keys"},
    {"help"},
    {"version"},
    {"completion"},
    {"man"},
};

TEST(Help, EveryCommandHasOneWithAWorkedExample) {
  const Sandbox box;
  for (const auto& command : kCommands) {
    std::string path = "mfl";
    for (const std::string& word : command) path += ' ' + word;
    SCOPED_TRACE(path);
    auto args = command;
    args.emplace_back("--help");
    const Outcome outcome = box.run(args);
    EXPECT_EQ(outcome.code, 0);
    EXPECT_EQ(outcome.err, "");
    EXPECT_THAT(outcome.out, HasSubstr("Usage: " + path));
    EXPECT_THAT(outcome.out, HasSubstr("Example:\n  " + path));
    const std::set<std::string> group_names = {"data", "runs", "theory", "certs", "demo"};
    const bool groups = command.empty() || (command.size() == 1 && group_names.contains(command[0]));
    EXPECT_EQ(outcome.out.find("--json") == std::string::npos, groups);
  }
  EXPECT_TRUE(box.files().empty()) << "help leaves no files";
}

TEST(Help, RunShowsEveryFlagOfTheIssueWithItsDefault) {
  const std::string help = Sandbox().run({"run", "--help"}).out;
  for (const char* flag : {"--data SPEC=mnist",
                           "--train N=all",
                           "--test N=all",
                           "--take HOW=first",
                           "--nodes N=4",
                           "--partition HOW=iid",
                           "--model NAME=svm",
                           "--lambda X=auto",
                           "--algorithm SPEC=mfl",
                           "--eta X=auto",
                           "--gamma X=0.5",
                           "--tau N=auto",
                           "--steps N=auto",
                           "--seed N=1",
                           "--precision P=f32",
                           "--engine NAME=threads",
                           "--threads N=0",
                           "--record-every N=0",
                           "--checkpoint-every N=0",
                           "--store",
                           "--json",
                           "--weights-out",
                           "--resume",
                           "--reuse",
                           "--set",
                           "--quiet",
                           "--task",
                           "--scale",
                           "--label",
                           "--header",
                           "--test-source",
                           "--name"})
    EXPECT_THAT(help, HasSubstr(flag));
}

TEST(Help, Version) {
  const Outcome outcome = Sandbox().run({"--version"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out,
              ::testing::MatchesRegex("mfl [0-9]+\\.[0-9]+\\.[0-9]+( \\([0-9a-f]{7,40}(-dirty)?\\))?\n"
                                      "kernels:.* portable \\(in use: [a-z0-9]+\\)\n"));
}

TEST(Help, CommandsForHelpAndVersionSayWhatTheFlagsSay) {
  const Sandbox box;
  EXPECT_EQ(box.run({"help"}).out, box.run({"--help"}).out);
  EXPECT_EQ(box.run({"help", "runs", "export"}).out, box.run({"runs", "export", "-h"}).out);
  const std::string version = box.run({"--version"}).out;
  EXPECT_EQ(box.run({"version"}).out, version);
  const auto parts = ok_data(box.run({"version", "--json"}));
  const std::string commit(parts["commit"].text()), number(parts["version"].text());
  EXPECT_THAT(version,
              ::testing::StartsWith("mfl " + number + (commit.empty() ? "" : " (" + commit + ")") + "\n"));
  EXPECT_EQ(ok_data(box.run({"help", "run", "--json"}))["command"], "mfl run");
#ifndef MFL_SANITIZED
  EXPECT_EQ(ok_data(box.run({"version", "--json"}))["kernels"].back(), "portable");
#endif
}

TEST(Help, FitsEightyColumnsButForExamples) {
  const Sandbox box;
  for (const auto& command : kCommands) {
    auto args = command;
    args.emplace_back("--help");
    const std::string text = box.run(args).out;
    std::istringstream lines(text.substr(0, text.find("\nExample:")));
    std::getline(lines, args.front());  // what the command does
    for (std::string line; std::getline(lines, line);)
      EXPECT_TRUE(line.size() <= 80 || line.find("--store PATH=") != std::string::npos) << line;
  }
}

#ifdef MFL_NETWORK
TEST(Help, TheDemonstrationOffersWhatItUsesWithItsOwnDefaults) {
  const std::string help = Sandbox().run({"demo", "federation", "--help"}).out;
  for (const char* flag : {"--steps N=100", "--train N=5000", "--algorithm SPEC=mfl", "--model NAME=svm"})
    EXPECT_THAT(help, HasSubstr(flag));
  for (const char* flag : {"[devices]", "[network]", "--quorum", "--engine"})
    EXPECT_THAT(help, ::testing::Not(HasSubstr(flag)));
}
#endif

TEST(Help, KernelsAreChosenByName) {
  const Sandbox box;
  const std::string last(ok_data(box.run({"version", "--json"}))["kernels"].back().text());
  ::setenv("MFL_KERNEL", last.c_str(), 1);
  EXPECT_THAT(box.run({"--version"}).out, ::testing::HasSubstr("in use: " + last));
  ::setenv("MFL_KERNEL", "sse9", 1);
  const Outcome refused = box.run({"run", "--data", "synthetic:40x8", "--steps", "8"});
  ::unsetenv("MFL_KERNEL");
  expect_error(refused, 2, {"MFL_KERNEL=sse9", last});
}

}  // namespace
}  // namespace mfl::test
