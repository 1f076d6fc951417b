#include "mfl/cli/usage.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "mfl/base/nearest.h"
#include "mfl/config/config_keys.h"
#include "mfl/config/foreign_words.h"

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

// Names are short: of five letters, two that differ make another word.
std::size_t most_edits(std::string_view word) { return std::max<std::size_t>(1, word.size() / 3); }

std::string suggestion(const std::string& word, const std::vector<std::string_view>& names) {
  const std::string near = nearest(word, names, most_edits(word));
  return near.empty() ? "" : fmt::format("; did you mean {}?", near);
}

// Words for outputs and inputs that other programs use, beside those of experiments; the first flag that the command
// has is meant.
struct OtherFlag {
  std::string_view word, flag;
};
constexpr OtherFlag kOtherFlags[] = {
    {"out", "--weights-out"},
    {"output", "--weights-out"},
    {"output", "--out"},
    {"output-dir", "--out"},
    {"out-dir", "--out"},
    {"save", "--weights-out"},
    {"save-model", "--weights-out"},
    {"checkpoint", "--resume"},
    {"db", "--store"},
    {"database", "--store"},
    {"host", "--listen"},
    {"port", "--listen"},
    {"bind", "--listen"},
    {"address", "--server"},
    {"server-address", "--server"},
    {"insecure", "--plaintext"},
    {"root-certificates", "--tls"},
    {"certs", "--tls"},
    {"silent", "--quiet"},
    {"jsonl", "--json"},
    {"format", "--json"},
};

// The flag of `command` for a word of another program, with what is different; empty if none is known.
std::string translated(const Command& command, std::string_view word) {
  for (const auto& [other, flag] : kOtherFlags)
    if (other == word && command.find_option(flag) != nullptr) return fmt::format("; did you mean {}?", flag);
  if (word == "config" && command.find_option("FILE") != nullptr)
    return fmt::format("; name the file without a flag: {} {}.toml", command.path(), word);
  const ForeignWord* foreign = find_foreign_word(word);
  if (foreign == nullptr) return {};
  const auto key = std::ranges::find_if(config_keys(), [&](const Key& candidate) {
    return candidate.table == foreign->table && candidate.key == foreign->key;
  });
  if (key == config_keys().end()) return fmt::format("; {}", foreign->note);
  if (command.find_option(key->flag) == nullptr) return {};
  const std::string note = foreign->note.empty() ? "" : fmt::format(" ({})", foreign->note);
  return fmt::format("; did you mean {}{}?", key->flag, note);
}

std::string nearest_flag(const Command& command, std::string_view word) {
  std::vector<std::string_view> names = flag_names(command);
  for (std::string_view& name : names) name.remove_prefix(2);
  const std::string near = nearest(word, names, most_edits(word));
  return near.empty() ? "" : fmt::format("; did you mean --{}?", near);
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
  const std::string_view word =
      std::string_view(name).substr(std::min(name.find_first_not_of('-'), name.size()));
  std::string advice = translated(command, word);
  if (advice.empty()) advice = nearest_flag(command, word);
  if (advice.empty() && command.parent() == nullptr) advice = "; flags follow a command: mfl run " + name;
  return usage_error(command, fmt::format("unknown flag {}{}", name, advice));
}

tl::unexpected<Error> unknown_command(const Command& parent, const std::string& word) {
  return usage_error(
      parent, fmt::format("unknown command \"{}\"{}", word, suggestion(word, subcommand_names(parent))));
}

Error missing_subcommand(const Command& command) {
  return error_of(command,
                  fmt::format("a command is missing: {}", fmt::join(subcommand_names(command), ", ")));
}

}  // namespace mfl::cli
