#include <fmt/core.h>

#include <memory>
#include <string>
#include <vector>

#include "mfl/base/kernels/kernels.h"
#include "mfl/base/version.h"
#include "mfl/cli/commands.h"
#include "mfl/cli/help.h"
#include "mfl/cli/usage.h"

namespace mfl::cli {

std::string version_text(const Commands& commands) {
  const std::string commit = commands.commit.empty() ? "" : fmt::format(" ({})", commands.commit);
  std::string kernels;
  for (const KernelSet& set : kernel_sets()) kernels += fmt::format(" {}", set.name);
  return fmt::format("mfl {}{}\nkernels:{} (in use: {})\n", version(), commit, kernels,
                     default_kernel_set().name);
}

Result<const Command*> find_command(const Command& mfl, const std::vector<std::string>& words) {
  const Command* command = &mfl;
  for (const std::string& word : words) {
    const Command* sub = command->find_subcommand(word);
    if (sub == nullptr) return unknown_command(*command, word);
    command = sub;
  }
  return command;
}

void setup_help(Command& mfl, Commands& commands) {
  const auto words = std::make_shared<std::vector<std::string>>();
  Command& command = commands.add(mfl, "help", "Print the help of a command",
                                  "  mfl help\n  mfl help runs export", [words, &mfl]() -> Result<Reply> {
                                    MFL_TRY(const Command* asked, find_command(mfl, *words));
                                    const std::string text = help_text(*asked);
                                    return Reply{{{"command", asked->path()}, {"help", text}}, text, {}};
                                  });
  command.add_option("COMMAND", *words, "The command and its subcommand; all commands if left out");
}

void setup_version(Command& mfl, Commands& commands) {
  commands.add(mfl, "version", "Print version, commit and the kernels of this machine",
               "  mfl version --json", [&commands]() -> Result<Reply> {
                 Reply reply{
                     {{"version", version()}, {"commit", commands.commit}, {"kernels", Json::array()}},
                     version_text(commands),
                     {}};
                 for (const KernelSet& set : kernel_sets()) reply.data["kernels"].push_back(set.name);
                 reply.data["kernel"] = default_kernel_set().name;
                 return reply;
               });
}

}  // namespace mfl::cli
