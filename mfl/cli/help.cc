#include "mfl/cli/help.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

namespace mfl::cli {
namespace {

constexpr std::size_t kHelpWidth = 80;
constexpr std::size_t kHelpIndent = 28;  // where explanations start

// "  LABEL    text", the text wrapped.
std::string help_entry(const std::string& label, std::string_view text) {
  std::string out;
  std::string line = "  " + label;
  if (line.size() + 2 > kHelpIndent && !text.empty()) {
    out = line + '\n';
    line.clear();
  }
  line.resize(std::max(line.size(), kHelpIndent), ' ');
  while (!text.empty()) {
    const std::size_t room = kHelpWidth - kHelpIndent;
    std::size_t end = text.size();
    if (end > room) {
      end = text.rfind(' ', room);
      if (end == std::string_view::npos) end = std::min(text.find(' '), text.size());
    }
    out += line;
    out += text.substr(0, end);
    out += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
    line.assign(kHelpIndent, ' ');
  }
  return out.empty() ? line + '\n' : out;
}

}  // namespace

std::vector<std::string_view> option_groups(const Command& command) {
  std::vector<std::string_view> groups;
  for (const auto& option : command.options())
    if (!option->is_positional() && std::ranges::find(groups, option->group()) == groups.end())
      groups.emplace_back(option->group());
  std::ranges::stable_sort(groups, {}, [](std::string_view group) { return !group.empty(); });
  if (groups.empty() || !groups.front().empty()) groups.insert(groups.begin(), "");
  return groups;
}

std::string option_label(const Option& option) {
  std::string label = option.name();
  if (option.arity() == Option::Arity::kMany && option.is_positional()) label += "...";
  if (!option.type_name().empty()) label += ' ' + option.type_name();
  if (!option.default_str().empty()) label += '=' + option.default_str();
  if (option.is_required() && !option.is_positional()) label += " (required)";
  return label;
}

std::string usage_line(const Command& command) {
  std::string line = command.path();
  line += " [OPTIONS]";
  for (const auto& option : command.options()) {
    if (!option->is_positional()) continue;
    std::string word = option->name();
    if (option->arity() == Option::Arity::kMany) word += "...";
    line += option->is_required() ? ' ' + word : " [" + word + ']';
  }
  if (!command.subcommands().empty()) line += " [COMMAND]";
  return line;
}

std::string help_text(const Command& command) {
  std::string out = fmt::format("{}\nUsage: {}\n", command.help(), usage_line(command));
  std::string arguments;
  for (const auto& option : command.options())
    if (option->is_positional()) arguments += help_entry(option_label(*option), option->help());
  if (!arguments.empty()) out += "\nArguments:\n" + arguments;
  for (const std::string_view group : option_groups(command)) {
    out += fmt::format("\n{}:\n", group.empty() ? "Options" : group);
    if (group.empty()) out += help_entry("-h, --help", "Print this help and exit");
    for (const auto& option : command.options())
      if (!option->is_positional() && option->group() == group)
        out += help_entry(option_label(*option), option->help());
  }
  if (!command.subcommands().empty()) out += "\nCommands:\n";
  for (const auto& sub : command.subcommands()) out += help_entry(sub->name(), sub->help());
  if (!command.footer().empty()) out += '\n' + command.footer() + '\n';
  return out;
}

}  // namespace mfl::cli
