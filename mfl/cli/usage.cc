#include "mfl/cli/usage.h"

#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "mfl/base/nearest.h"

namespace mfl::cli {
namespace {

std::vector<std::string_view> flag_names(const Command& command) {
  std::vector<std::string_view> names = {"--help"};
  for (const auto& option : command.options())
    if (!option->is_positional()) names.emplace_back(option->name());
  return names;
}

std::vector<std::string_view> subcommand_names(const Command& command) {
  std::vector<std::string_view> names;
  for (const auto& sub : command.subcommands()) names.emplace_back(sub->name());
  return names;
}

std::string did_you_mean(const std::string& word, const std::vector<std::string_view>& names) {
  const std::string near = nearest(word, names);
  return near.empty() ? "" : fmt::format("; did you mean {}?", near);
}

// "run: ", or nothing for mfl itself: the line starts with mfl anyway.
std::string prefix(const Command& command) {
  const std::string path = command.path();
  const std::size_t space = path.find(' ');
  return space == std::string::npos ? "" : path.substr(space + 1) + ": ";
}

Error error_of(const Command& command, const std::string& message) {
  return {ErrorCode::kBadConfig, prefix(command) + message, fmt::format("see {} --help", command.path()),
          nullptr};
}

}  // namespace

tl::unexpected<Error> usage_error(const Command& command, const std::string& message) {
  return tl::unexpected<Error>(error_of(command, message));
}

tl::unexpected<Error> unknown_flag(const Command& command, const std::string& name) {
  return usage_error(command,
                     fmt::format("unknown flag {}{}", name, did_you_mean(name, flag_names(command))));
}

tl::unexpected<Error> unknown_command(const Command& parent, const std::string& word) {
  return usage_error(
      parent, fmt::format("unknown command \"{}\"{}", word, did_you_mean(word, subcommand_names(parent))));
}

Error missing_subcommand(const Command& command) {
  return error_of(command,
                  fmt::format("a command is missing: {}", fmt::join(subcommand_names(command), ", ")));
}

Error not_under_mpi(const Command& command) {
  return {ErrorCode::kBadConfig, fmt::format("{}does not share its work over MPI", prefix(command)),
          "run it without mpirun: it uses the cores of one machine", nullptr};
}

}  // namespace mfl::cli
