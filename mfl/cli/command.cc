#include "mfl/cli/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

namespace mfl::cli {
namespace {

tl::unexpected<Error> reason(std::string text) { return fail(ErrorCode::kBadConfig, std::move(text)); }

template <class T>
Result<void> set_option_number(T& to, const std::string& text, const char* wanted) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end) return reason(fmt::format("must be {}", wanted));
  to = value;
  return {};
}

constexpr const char* kNumber = "a number";
constexpr const char* kWhole = "a whole number";

}  // namespace

Option::Option(std::string name, std::string help, Arity arity, Set set)
    : name_(std::move(name)), help_(std::move(help)), arity_(arity), set_(std::move(set)) {}

Option* Option::type_name(std::string text) {
  type_name_ = std::move(text);
  return this;
}

Option* Option::group(std::string text) {
  group_ = std::move(text);
  return this;
}

Option* Option::required() {
  required_ = true;
  return this;
}

Option* Option::default_str(std::string text) {
  default_ = std::move(text);
  return this;
}

Option* Option::capture_default_str() { return default_str(current_ ? current_() : ""); }

Option* Option::check_range(double low, double high) {
  check_ = [low, high](const std::string& text) -> Result<void> {
    double value = 0;
    if (set_option_number(value, text, kNumber) && value >= low && value <= high) return {};
    return reason(fmt::format("must be from {} to {}", low, high));
  };
  return this;
}

Option* Option::not_blank() {
  check_ = [](const std::string& text) -> Result<void> {
    return text.find_first_not_of(" \t\r\n") == std::string::npos ? reason("must not be empty")
                                                                  : Result<void>{};
  };
  return this;
}

Option* Option::choices(std::vector<std::string> words) {
  choices_ = std::move(words);
  return this;
}

Result<void> Option::take(const std::string& text) {
  if (check_) MFL_CHECK(check_(text));
  if (set_) MFL_CHECK(set_(text));
  results_.push_back(text);
  return {};
}

Command::Command(std::string name, std::string help) : name_(std::move(name)), help_(std::move(help)) {}

Command* Command::add_subcommand(std::string name, std::string help) {
  subcommands_.push_back(std::make_unique<Command>(std::move(name), std::move(help)));
  subcommands_.back()->parent_ = this;
  return subcommands_.back().get();
}

Option* Command::add(std::string name, std::string help, Option::Arity arity, Option::Set set) {
  options_.push_back(std::make_unique<Option>(std::move(name), std::move(help), arity, std::move(set)));
  return options_.back().get();
}

Option* Command::add_option(std::string name, std::string& to, std::string help) {
  Option* option = add(std::move(name), std::move(help), Option::Arity::kOne,
                       [&to](const std::string& text) -> Result<void> {
                         to = text;
                         return {};
                       });
  option->current_ = [&to] { return to; };
  return option;
}

Option* Command::add_option(std::string name, std::optional<std::string>& to, std::string help) {
  return add(std::move(name), std::move(help), Option::Arity::kOne,
             [&to](const std::string& text) -> Result<void> {
               to = text;
               return {};
             });
}

Option* Command::add_option(std::string name, std::vector<std::string>& to, std::string help) {
  return add(std::move(name), std::move(help), Option::Arity::kMany,
             [&to](const std::string& text) -> Result<void> {
               to.push_back(text);
               return {};
             });
}

Option* Command::add_option(std::string name, double& to, std::string help) {
  Option* option = add(std::move(name), std::move(help), Option::Arity::kOne,
                       [&to](const std::string& text) { return set_option_number(to, text, kNumber); });
  option->current_ = [&to] { return fmt::to_string(to); };
  return option;
}

Option* Command::add_option(std::string name, std::optional<double>& to, std::string help) {
  return add(std::move(name), std::move(help), Option::Arity::kOne,
             [&to](const std::string& text) { return set_option_number(to.emplace(), text, kNumber); });
}

Option* Command::add_option(std::string name, std::uint64_t& to, std::string help) {
  Option* option = add(std::move(name), std::move(help), Option::Arity::kOne,
                       [&to](const std::string& text) { return set_option_number(to, text, kWhole); });
  option->current_ = [&to] { return fmt::to_string(to); };
  return option;
}

Option* Command::add_option(std::string name, std::optional<std::uint64_t>& to, std::string help) {
  return add(std::move(name), std::move(help), Option::Arity::kOne,
             [&to](const std::string& text) { return set_option_number(to.emplace(), text, kWhole); });
}

Option* Command::add_option(std::string name, int& to, std::string help) {
  Option* option = add(std::move(name), std::move(help), Option::Arity::kOne,
                       [&to](const std::string& text) { return set_option_number(to, text, kWhole); });
  option->current_ = [&to] { return fmt::to_string(to); };
  return option;
}

Option* Command::add_option(std::string name, std::string help, Option::Arity arity) {
  return add(std::move(name), std::move(help), arity, {});
}

Option* Command::add_flag(std::string name, bool& to, std::string help) {
  return add(std::move(name), std::move(help), Option::Arity::kFlag,
             [&to](const std::string&) -> Result<void> {
               to = true;
               return {};
             });
}

std::string Command::path() const { return parent_ == nullptr ? name_ : parent_->path() + ' ' + name_; }

Option* Command::find_option(std::string_view name) const {
  const auto found =
      std::ranges::find_if(options_, [&](const auto& option) { return option->name() == name; });
  return found == options_.end() ? nullptr : found->get();
}

Command* Command::find_subcommand(std::string_view name) const {
  const auto found =
      std::ranges::find_if(subcommands_, [&](const auto& command) { return command->name() == name; });
  return found == subcommands_.end() ? nullptr : found->get();
}

}  // namespace mfl::cli
