// The commands of the program and their options, as a tree that parsing, help, completion and man pages all read.
//
//   Command mfl("mfl", "Trains models.");
//   Command* run = mfl.add_subcommand("run", "Train one model");
//   run->add_option("FILE", file, "Experiment file");                                   // a positional
//   run->add_option("--eta", eta, "Step size")->type_name("X")->capture_default_str();  // an option with a value
//   run->add_flag("--quiet", quiet, "No progress on stderr");                           // a flag
//
// Not thread-safe. The variables bound to options must outlive the tree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mfl/base/result.h"

namespace mfl::cli {

// One option, flag or positional. The setters return `this` so that they can be chained.
class Option {
 public:
  // Converts a text into the bound variable. The error is the reason alone ("must be a whole number").
  using Set = std::function<Result<void>(const std::string& text)>;

  // What a name takes: "--quiet" nothing, "--eta" one value, "--set" and "ID" any number of values.
  enum class Arity { kFlag, kOne, kMany };

  Option(std::string name, std::string help, Arity arity, Set set);

  // The placeholder of the value in the help: "N", "FILE", "HOST:PORT".
  Option* type_name(std::string text);
  // The heading under which the help lists it.
  Option* group(std::string text);
  // Parsing fails without it.
  Option* required();
  // The default that the help shows; capture_default_str() takes it from the bound variable.
  Option* default_str(std::string text);
  Option* capture_default_str();
  // The value is a number that must lie in [low, high].
  Option* check_range(double low, double high);
  // The value has something else than blanks: an unset variable of a shell is no value.
  Option* not_blank();
  // Words that the value may be, for completion. They are not enforced: whoever uses the value does that.
  Option* choices(std::vector<std::string> words);

  const std::string& name() const { return name_; }
  const std::string& help() const { return help_; }
  const std::string& type_name() const { return type_name_; }
  const std::string& group() const { return group_; }
  const std::string& default_str() const { return default_; }
  const std::vector<std::string>& choices() const { return choices_; }
  Arity arity() const { return arity_; }
  bool is_required() const { return required_; }
  bool is_positional() const { return name_.front() != '-'; }

  // The values of the command line, in order; a flag counts how often it was given.
  const std::vector<std::string>& results() const { return results_; }
  std::size_t count() const { return results_.size(); }

  // Takes one value, or "" for a flag. The error is the reason alone.
  Result<void> take(const std::string& text);

 private:
  friend class Command;

  std::string name_, help_, type_name_, group_, default_;
  std::vector<std::string> choices_;
  Arity arity_;
  bool required_ = false;
  Set set_;
  std::function<std::string()> current_;  // the bound variable as text
  std::function<Result<void>(const std::string&)> check_;
  std::vector<std::string> results_;
};

class Command {
 public:
  Command(std::string name, std::string help);
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  Command* add_subcommand(std::string name, std::string help);

  // A name that starts with "--" is an option, any other a positional. A vector takes any number of values.
  Option* add_option(std::string name, std::string& to, std::string help);
  Option* add_option(std::string name, std::optional<std::string>& to, std::string help);
  Option* add_option(std::string name, std::vector<std::string>& to, std::string help);
  Option* add_option(std::string name, double& to, std::string help);
  Option* add_option(std::string name, std::optional<double>& to, std::string help);
  Option* add_option(std::string name, std::uint64_t& to, std::string help);
  Option* add_option(std::string name, std::optional<std::uint64_t>& to, std::string help);
  Option* add_option(std::string name, int& to, std::string help);
  // Bound to no variable: results() has the texts.
  Option* add_option(std::string name, std::string help, Option::Arity arity = Option::Arity::kOne);
  Option* add_flag(std::string name, bool& to, std::string help);

  // Examples and notes under the help, starting with "Example:\n".
  void footer(std::string text) { footer_ = std::move(text); }

  const std::string& name() const { return name_; }
  const std::string& help() const { return help_; }
  const std::string& footer() const { return footer_; }
  const Command* parent() const { return parent_; }
  // "mfl data info".
  std::string path() const;
  const std::vector<std::unique_ptr<Option>>& options() const { return options_; }
  const std::vector<std::unique_ptr<Command>>& subcommands() const { return subcommands_; }
  // nullptr where there is none.
  Option* find_option(std::string_view name) const;
  Command* find_subcommand(std::string_view name) const;

 private:
  Option* add(std::string name, std::string help, Option::Arity arity, Option::Set set);

  std::string name_, help_, footer_;
  const Command* parent_ = nullptr;
  std::vector<std::unique_ptr<Option>> options_;
  std::vector<std::unique_ptr<Command>> subcommands_;
};

}  // namespace mfl::cli
