#include <fmt/core.h>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "mfl/base/files.h"
#include "mfl/base/version.h"
#include "mfl/cli/commands.h"
#include "mfl/cli/help.h"

namespace mfl::cli {
namespace {

// Text for roff: no escapes, no minus signs that become hyphens.
std::string plain(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
  }
  return out;
}

// A line of its own: one that starts with a dot or a quote is a request otherwise.
std::string man_line(std::string_view text) {
  const bool request = text.starts_with('.') || text.starts_with('\'');
  return (request ? "\\&" : "") + plain(text) + '\n';
}

std::string page_name(const Command& command) {
  std::string name = command.path();
  for (char& c : name)
    if (c == ' ') c = '-';
  return name;
}

std::string man_entry(const Option& option) {
  const std::string name = fmt::format("\\fB{}\\fR", plain(option.name()));
  std::string label = name;
  if (option.is_positional() && option.arity() == Option::Arity::kMany) label += "...";
  if (!option.type_name().empty()) label += fmt::format(" \\fI{}\\fR", plain(option.type_name()));
  std::string text = man_line(option.help());
  if (!option.default_str().empty()) text += man_line(fmt::format("(default: {})", option.default_str()));
  if (option.is_required()) text += man_line("(required)");
  return ".TP\n" + label + '\n' + text;
}

// The footer: lines that are indented are examples, the others text.
std::string examples(std::string_view footer) {
  std::string out;
  constexpr std::string_view kHead = "Example:\n";
  if (footer.starts_with(kHead)) footer.remove_prefix(kHead.size());
  while (!footer.empty()) {
    const std::size_t end = std::min(footer.find('\n'), footer.size());
    const std::string_view row = footer.substr(0, end);
    if (!out.empty()) out += ".PP\n";
    if (row.starts_with("  "))
      out += ".nf\n" + man_line(row.substr(2)) + ".fi\n";
    else
      out += man_line(row);
    footer.remove_prefix(std::min(end + 1, footer.size()));
  }
  return out;
}

std::string see_also(const Command& command) {
  std::vector<const Command*> pages;
  if (command.parent() != nullptr) pages.push_back(command.parent());
  for (const auto& sub : command.subcommands()) pages.push_back(sub.get());
  std::string out;
  for (std::size_t i = 0; i < pages.size(); ++i)
    out += fmt::format(".BR {} (1){}\n", plain(page_name(*pages[i])), i + 1 < pages.size() ? "," : "");
  return out;
}

std::string man_page(const Command& command) {
  const std::string title = page_name(command);
  std::string upper;
  for (const char c : title) upper += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  std::string out = fmt::format(".TH {} 1 \"\" \"mfl {}\" \"mfl manual\"\n", plain(upper), version());
  out += ".SH NAME\n" + man_line(fmt::format("{} - {}", title, command.help()));
  out += ".SH SYNOPSIS\n" + man_line(usage_line(command));
  std::string arguments;
  for (const auto& option : command.options())
    if (option->is_positional()) arguments += man_entry(*option);
  if (!arguments.empty()) out += ".SH ARGUMENTS\n" + arguments;
  out += ".SH OPTIONS\n.TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nPrint the help and exit\n";
  for (const std::string_view group : option_groups(command)) {
    if (!group.empty()) out += fmt::format(".SS {}\n", plain(group));
    for (const auto& option : command.options())
      if (!option->is_positional() && option->group() == group) out += man_entry(*option);
  }
  if (!command.subcommands().empty()) out += ".SH COMMANDS\n";
  for (const auto& sub : command.subcommands())
    out += fmt::format(".TP\n\\fB{}\\fR\n{}", plain(sub->name()), man_line(sub->help()));
  if (!command.footer().empty()) out += ".SH EXAMPLES\n" + examples(command.footer());
  if (const std::string pages = see_also(command); !pages.empty()) out += ".SH SEE ALSO\n" + pages;
  return out;
}

Result<void> write_pages(const Command& command, const std::filesystem::path& folder) {
  MFL_CHECK(write_file(folder / (page_name(command) + ".1"), man_page(command)));
  for (const auto& sub : command.subcommands()) MFL_CHECK(write_pages(*sub, folder));
  return {};
}

struct ManArguments {
  std::vector<std::string> words;
  std::string out;
};

Result<Reply> man_command(const ManArguments& args, const Command& mfl) {
  MFL_TRY(const Command* asked, find_command(mfl, args.words));
  if (!args.out.empty()) {
    MFL_CHECK(write_pages(*asked, args.out));
    return Reply{{{"folder", args.out}}, fmt::format("wrote the manual pages to {}\n", args.out), {}};
  }
  const std::string page = man_page(*asked);
  return Reply{{{"command", asked->path()}, {"page", page}}, page, {}};
}

}  // namespace

void setup_man(Command& mfl, Commands& commands) {
  const auto args = std::make_shared<ManArguments>();
  Command& command = commands.add(mfl, "man", "Print a manual page, in roff",
                                  "  mfl man run | man -l -\n"
                                  "  mfl man --out .",
                                  [args, &mfl] { return man_command(*args, mfl); });
  command.add_option("COMMAND", args->words, "The command and its subcommand; mfl itself if left out");
  command.add_option("--out", args->out, "Write the page and those of all subcommands into this folder")
      ->type_name("DIR");
}

}  // namespace mfl::cli
