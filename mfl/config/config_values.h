// Values of keys: from text with a reason when it is wrong, and back to TOML. Private to config*.cc and
// distribution.cc.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mfl/base/nearest.h"
#include "mfl/base/number_range.h"
#include "mfl/base/result.h"

namespace mfl {

// TOML integers are signed.
inline constexpr std::uint64_t kLargestInteger = std::numeric_limits<std::int64_t>::max();

Result<std::uint64_t> integer_value(std::string_view text, std::uint64_t least, std::string_view word = {},
                                    std::uint64_t most = kLargestInteger);
Result<double> number_value(std::string_view text, const NumberRange& range, std::string_view word = {});

Result<void> set_integer(std::uint64_t& to, std::string_view text, std::uint64_t least,
                         std::uint64_t most = kLargestInteger);
Result<void> set_integer(std::optional<std::uint64_t>& to, std::string_view text, std::uint64_t least,
                         std::string_view word);
Result<void> set_number(double& to, std::string_view text, const NumberRange& range);
Result<void> set_number(std::optional<double>& to, std::string_view text, const NumberRange& range,
                        std::string_view word);
Result<void> set_text(std::string& to, std::string_view text, bool may_be_empty);
// "a, b, c", or a TOML array of strings and numbers, which may hold anything.
Result<std::vector<std::string>> texts_value(std::string_view text);
// `text` must be one of `names`.
Result<void> set_name(std::string& to, std::string_view text, std::span<const std::string_view> names);
// The reason why `text` is none of `names`.
tl::unexpected<Error> not_one_of(std::string_view text, std::span<const std::string_view> names);

std::string toml_text(std::string_view text);
std::string toml_texts(std::span<const std::string> texts);
std::string toml_number(double number);
std::string toml_integer(std::optional<std::uint64_t> number, std::string_view word);
std::string toml_number(std::optional<double> number, std::string_view word);

template <class E>
struct Choice {
  std::string_view name;
  E value;
};

template <class E>
Result<void> set_choice(E& to, std::string_view text, std::span<const Choice<E>> choices) {
  std::vector<std::string_view> names;
  for (const Choice<E>& choice : choices) {
    if (choice.name == text) {
      to = choice.value;
      return {};
    }
    names.push_back(choice.name);
  }
  return not_one_of(text, names);
}

template <class E>
std::string toml_choice(E value, std::span<const Choice<E>> choices) {
  for (const Choice<E>& choice : choices)
    if (choice.value == value) return toml_text(choice.name);
  return toml_text("?");
}

}  // namespace mfl
