#include "mfl/cli/usage.h"

#include <fmt/core.h>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <string>
#include <vector>

#include "mfl/base/nearest.h"

namespace mfl::cli {
namespace {

std::vector<std::string> flag_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

std::vector<std::string> subcommand_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* sub : command.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(sub->get_name());
  return names;
}

std::string did_you_mean(const std::string& word, const std::vector<std::string>& names) {
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  const std::string near = nearest(word, candidates);
  return near.empty() ? "" : fmt::format("; did you mean {}?", near);
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : ", ") + word;
  return out;
}

std::string help_hint(const CLI::App& command) { return fmt::format("see {} --help", command_path(command)); }

// "run: ", or nothing for mfl itself: the line starts with mfl anyway.
std::string prefix(const CLI::App& command) {
  const std::string path = command_path(command);
  const std::size_t space = path.find(' ');
  return space == std::string::npos ? "" : path.substr(space + 1) + ": ";
}

std::string unexpected_word(const CLI::App& command, const std::vector<std::string>& words) {
  auto found = std::ranges::find_if(words, [](const std::string& word) { return word.starts_with('-'); });
  if (found == words.end()) found = words.begin();
  const std::string word = found->substr(0, found->starts_with('-') ? found->find('=') : std::string::npos);
  if (word.starts_with('-'))
    return fmt::format("{}unknown flag {}{}", prefix(command), word, did_you_mean(word, flag_names(command)));
  const std::vector<std::string> subcommands = subcommand_names(command);
  if (!subcommands.empty())
    return fmt::format("{}unknown command \"{}\"{}", prefix(command), word, did_you_mean(word, subcommands));
  return fmt::format("{}unexpected argument \"{}\"", prefix(command), word);
}

}  // namespace

const CLI::App& named_command(const CLI::App& mfl) {
  const CLI::App* command = &mfl;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  return *command;
}

std::string command_path(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  return parent == nullptr ? command.get_name() : command_path(*parent) + ' ' + command.get_name();
}

Error usage_error(const CLI::App& mfl, const CLI::ParseError& parse_error) {
  const CLI::App& command = named_command(mfl);
  const std::vector<std::string> left = mfl.remaining(true);
  // A word that was not understood explains more than what is missing for it.
  const std::string message = left.empty() ? fmt::format("{}{}", prefix(command), parse_error.what())
                                           : unexpected_word(command, left);
  return {ErrorCode::kBadConfig, message, help_hint(command), nullptr};
}

Error not_under_mpi(const CLI::App& command) {
  return {ErrorCode::kBadConfig, fmt::format("{}does not share its work over MPI", prefix(command)),
          "run it without mpirun: it uses the cores of one machine", nullptr};
}

Error missing_subcommand(const CLI::App& command) {
  return {ErrorCode::kBadConfig,
          fmt::format("{}a command is missing: {}", prefix(command), joined(subcommand_names(command))),
          help_hint(command), nullptr};
}

}  // namespace mfl::cli
