#include "mfl/cli/parse.h"

#include <fmt/format.h>

#include <vector>

#include "mfl/cli/usage.h"

namespace mfl::cli {
namespace {

class Parser {
 public:
  Parser(Command& root, std::span<const std::string> words) : command_(&root), words_(words) {}

  Result<ParsedCommand> parse() {
    while (next_ < words_.size()) {
      const std::string& word = words_[next_++];
      if (!only_positionals_ && (word == "--help" || word == "-h")) return ParsedCommand{command_, true};
      if (!only_positionals_ && word == "--")
        only_positionals_ = true;
      else if (!only_positionals_ && word.size() > 1 && word.front() == '-')
        MFL_CHECK(take_option(word));
      else
        MFL_CHECK(take_word(word));
    }
    for (const auto& option : command_->options())
      if (option->is_required() && option->count() == 0)
        return usage_error(*command_, fmt::format("{} is required", option->name()));
    return ParsedCommand{command_, false};
  }

 private:
  Result<void> take_option(const std::string& word) {
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    Option* option = command_->find_option(name);
    if (option == nullptr) return unknown_flag(*command_, name);
    const bool attached = equals != std::string::npos;
    if (option->arity() == Option::Arity::kFlag) {
      if (attached) return usage_error(*command_, fmt::format("{} takes no value", name));
      return give(*option, "");
    }
    if (attached) return give(*option, word.substr(equals + 1));
    if (next_ == words_.size()) return usage_error(*command_, fmt::format("{}: its value is missing", name));
    const std::string& value = words_[next_++];
    if (value.starts_with("--"))
      return usage_error(*command_, fmt::format("{}: its value is missing before {}", name, value));
    return give(*option, value);
  }

  Result<void> take_word(const std::string& word) {
    if (Command* sub = command_->find_subcommand(word);
        sub != nullptr && positionals_ == 0 && !only_positionals_) {
      command_ = sub;
      return {};
    }
    for (const auto& option : command_->options()) {
      if (!option->is_positional()) continue;
      if (option->arity() == Option::Arity::kOne && option->count() > 0) continue;
      ++positionals_;
      return give(*option, word);
    }
    if (command_->subcommands().empty())
      return usage_error(*command_, fmt::format("unexpected argument \"{}\"", word));
    return unknown_command(*command_, word);
  }

  Result<void> give(Option& option, const std::string& text) {
    if (option.arity() == Option::Arity::kOne && option.count() > 0)
      return usage_error(*command_, fmt::format("{} is given twice: {} and {}; leave one out", option.name(),
                                                option.results().front(), text));
    if (const auto taken = option.take(text); !taken)
      return usage_error(*command_, fmt::format("{} {}: {}", option.name(), text, taken.error().message));
    return {};
  }

  Command* command_;
  std::span<const std::string> words_;
  std::size_t next_ = 0;
  std::size_t positionals_ = 0;
  bool only_positionals_ = false;
};

}  // namespace

Result<ParsedCommand> parse(Command& root, std::span<const std::string> words) {
  return Parser(root, words).parse();
}

}  // namespace mfl::cli
