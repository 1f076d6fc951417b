#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <exception>
#include <new>
#include <string_view>

#include "mfl/cli/commands.h"
#include "mfl/cli/usage.h"

namespace mfl::cli {
namespace {

// Also holds when the command line could not be parsed.
bool asks_for_json(int argc, const char* const* argv) {
  for (int i = 1; i < argc; ++i)
    if (std::string_view(argv[i]) == "--json") return true;
  return false;
}

int run(int argc, const char* const* argv) {
  if (const auto chosen = check_kernel_choice(); !chosen)
    return print_error(chosen.error(), asks_for_json(argc, argv));
  CLI::App mfl("", "mfl");
  Commands commands;
  setup_all(mfl, commands);
  try {
    mfl.parse(argc, argv);
  } catch (const CLI::Success& help) {
    return mfl.exit(help);
  } catch (const CLI::ParseError& error) {
    return print_error(usage_error(mfl, error), asks_for_json(argc, argv));
  }
  const CLI::App& command = named_command(mfl);
  const auto action = commands.actions.find(&command);
  if (action == commands.actions.end())
    return print_error(missing_subcommand(command), asks_for_json(argc, argv));
  const Result<Reply> reply = action->second();
  return reply ? print_reply(*reply, commands.json) : print_error(reply.error(), asks_for_json(argc, argv));
}

int guarded_run(int argc, const char* const* argv) {
  const bool json = asks_for_json(argc, argv);
  try {
    return run(argc, argv);
  } catch (const std::bad_alloc&) {
    return print_error(
        {ErrorCode::kRunFailed, "out of memory", "take fewer samples or use a larger machine", nullptr},
        json);
  } catch (const std::exception& error) {
    return print_error({ErrorCode::kInternal, std::string("internal error: ") + error.what(),
                        "this is a bug: please report it with the command line", nullptr},
                       json);
  }
}

}  // namespace
}  // namespace mfl::cli

int main(int argc, char** argv) { return mfl::cli::guarded_run(argc, argv); }
