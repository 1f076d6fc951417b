#include "mfl/config/config_values.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <system_error>

#include "mfl/base/json.h"
#include "mfl/data/text.h"

namespace mfl {
namespace {

tl::unexpected<Error> reason(std::string text) { return fail(ErrorCode::kBadConfig, std::move(text)); }

std::string or_word(std::string_view word) { return word.empty() ? "" : fmt::format(", or \"{}\"", word); }

template <class T>
bool parse_all(std::string_view text, T& to) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, to);
  return error == std::errc{} && stop == end;
}

}  // namespace

Result<std::uint64_t> integer_value(std::string_view text, std::uint64_t least, std::string_view word,
                                    std::uint64_t most) {
  std::uint64_t value = 0;
  const bool parsed = parse_all(text, value);
  if (parsed && value >= least && value <= most) return value;
  const bool digits = !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  if (parsed ? value > most : digits) return reason(fmt::format("must be at most {}", most));
  return reason(fmt::format("must be a whole number >= {}{}", least, or_word(word)));
}

Result<double> number_value(std::string_view text, const NumberRange& range, std::string_view word) {
  double value = 0;
  if (!parse_all(text, value)) return reason(fmt::format("must be a number {}{}", range.text, or_word(word)));
  if (!range.holds(value)) return reason(fmt::format("must be {}{}", range.text, or_word(word)));
  return value;
}

Result<void> set_integer(std::uint64_t& to, std::string_view text, std::uint64_t least, std::uint64_t most) {
  MFL_TRY(to, integer_value(text, least, {}, most));
  return {};
}

Result<void> set_integer(std::optional<std::uint64_t>& to, std::string_view text, std::uint64_t least,
                         std::string_view word) {
  if (text == word) {
    to.reset();
    return {};
  }
  MFL_TRY(to, integer_value(text, least, word));
  return {};
}

Result<void> set_number(double& to, std::string_view text, const NumberRange& range) {
  MFL_TRY(to, number_value(text, range));
  return {};
}

Result<void> set_number(std::optional<double>& to, std::string_view text, const NumberRange& range,
                        std::string_view word) {
  if (text == word) {
    to.reset();
    return {};
  }
  MFL_TRY(to, number_value(text, range, word));
  return {};
}

Result<void> set_text(std::string& to, std::string_view text, bool may_be_empty) {
  if (text.empty() && !may_be_empty) return reason("must not be empty");
  if (!is_utf8(text) || text.find('\0') != std::string_view::npos) return reason("must be UTF-8 text");
  to = text;
  return {};
}

Result<std::vector<std::string>> texts_value(std::string_view text) {
  std::vector<std::string> out;
  if (text.starts_with('[')) {
    // A TOML array of basic strings and numbers is a JSON array.
    const auto parsed = Json::parse(text);
    if (!parsed || !parsed->is_array()) return reason("must be an array such as [\"a\", \"b\"], or a, b");
    for (const Json& one : parsed->elements()) {
      if (one.is_array() || one.is_object() || one.is_null()) return reason("must be an array of strings");
      out.push_back(one.is_string() ? std::string(one.text()) : one.dump());
    }
  } else {
    while (!text.empty()) {
      const std::size_t comma = std::min(text.find(','), text.size());
      out.emplace_back(trim(text.substr(0, comma)));
      text.remove_prefix(std::min(comma + 1, text.size()));
    }
  }
  for (const std::string& one : out) {
    std::string checked;
    MFL_CHECK(set_text(checked, one, true));
  }
  return out;
}

Result<void> set_name(std::string& to, std::string_view text, std::span<const std::string_view> names) {
  for (const std::string_view name : names) {
    if (name == text) {
      to = text;
      return {};
    }
  }
  return not_one_of(text, names);
}

tl::unexpected<Error> not_one_of(std::string_view text, std::span<const std::string_view> names) {
  std::string list;
  for (std::size_t i = 0; i < names.size(); ++i)
    list += fmt::format("{}{}", i == 0 ? "" : i + 1 == names.size() ? " or " : ", ", names[i]);
  return reason(fmt::format("must be {}{}", list, did_you_mean(text, names)));
}

std::string toml_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (code < 0x20 || code == 0x7F) {
      out += fmt::format("\\u{:04X}", code);
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string toml_texts(std::span<const std::string> texts) {
  std::string out = "[";
  for (const std::string& text : texts) out += (out.size() == 1 ? "" : ", ") + toml_text(text);
  return out + "]";
}

std::string toml_number(double number) {
  std::string out = fmt::format("{}", number);
  if (std::isfinite(number) && out.find_first_of(".e") == std::string::npos) out += ".0";
  return out;
}

std::string toml_integer(std::optional<std::uint64_t> number, std::string_view word) {
  return number ? fmt::format("{}", *number) : toml_text(word);
}

std::string toml_number(std::optional<double> number, std::string_view word) {
  return number ? toml_number(*number) : toml_text(word);
}

}  // namespace mfl
