#include <csignal>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "mfl/base/caught.h"
#include "mfl/cli/commands.h"
#include "mfl/cli/commit.h"
#include "mfl/cli/help.h"
#include "mfl/cli/parse.h"
#include "mfl/cli/usage.h"

namespace mfl::cli {
namespace {

// Works on a command line that cannot be parsed, too.
bool asks_for_json(int argc, const char* const* argv) {
  for (int i = 1; i < argc; ++i)
    if (std::string_view(argv[i]) == "--json") return true;
  return false;
}

// Other processes must learn of a failure before the stack unwinds.
Result<Reply> guarded_action(const Commands::Action& action) {
  try {
    return action();
  } catch (const std::exception&) {
    return tl::unexpected<Error>(caught_error());
  }
}

int run(int argc, const char* const* argv) {
  if (const auto chosen = check_kernel_choice(); !chosen)
    return print_error(chosen.error(), asks_for_json(argc, argv));
  Command mfl("mfl", "Momentum federated learning: trains models across machines that keep their own data.");
  Commands commands;
  commands.commit = commit();
  setup_all(mfl, commands);
  const bool prints = commands.processes.prints();
  const std::vector<std::string> words(argv + 1, argv + argc);
  const Result<ParsedCommand> parsed = parse(mfl, words);
  if (!parsed) return prints ? print_error(parsed.error(), asks_for_json(argc, argv)) : 0;
  const Command& command = *parsed->command;
  if (parsed->help) return prints ? print_text(help_text(command)) : 0;
  if (commands.version) return prints ? print_text(version_text(commands)) : 0;
  const auto action = commands.actions.find(&command);
  if (action == commands.actions.end())
    return prints ? print_error(missing_subcommand(command), asks_for_json(argc, argv)) : 0;
  const Result<bool> runs = commands.processes.runs(command);
  if (!runs) return print_error(runs.error(), commands.json);
  if (!*runs) return 0;
  return commands.processes.answer(guarded_action(action->second), commands.json);
}

int guarded_run(int argc, const char* const* argv) {
  const bool json = asks_for_json(argc, argv);
  try {
    return run(argc, argv);
  } catch (const std::exception&) {
    return print_error(caught_error(), json);
  }
}

}  // namespace
}  // namespace mfl::cli

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file beyond ulimit -f is an error of the write
  return mfl::cli::guarded_run(argc, argv);
}
