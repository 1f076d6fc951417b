#include "mfl/base/catalog.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <stdexcept>
#include <system_error>

#include "mfl/base/nearest.h"
#include "mfl/base/visible.h"

namespace mfl {
namespace {

constexpr std::size_t kMostQuoted = 64;
constexpr double kLargestWhole = 0x1p53;
constexpr std::string_view kBlanks = " \t\r\n";

std::string quoted(std::string_view text) { return fmt::format("\"{}\"", visible(text, kMostQuoted)); }

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

bool is_word(std::string_view text) {
  constexpr std::string_view kOthers = "-_.";
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           kOthers.find(c) != std::string_view::npos;
  });
}

std::optional<double> number_of(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return value + 0.0;  // -0 is 0
}

bool accepts(const Parameter& parameter, double value) {
  if (std::isnan(value) || (std::isinf(value) && !parameter.may_be_infinite)) return false;
  if (parameter.whole && (std::trunc(value) != value || std::abs(value) > kLargestWhole)) return false;
  return parameter.range.holds(value);
}

tl::unexpected<Error> bad_spec(const CatalogEntry& entry, const std::string& problem) {
  return fail(ErrorCode::kBadConfig, fmt::format("{}: {}", entry.name, problem),
              fmt::format("write {}", usage_text(entry)));
}

std::string unknown_parameter(const CatalogEntry& entry, std::string_view name) {
  std::vector<std::string_view> names;
  for (const Parameter& parameter : entry.parameters) names.emplace_back(parameter.name);
  return fmt::format("unknown parameter {}{}", quoted(name), did_you_mean(name, names));
}

// The values in the order of the entry's parameters, as they are given one by one.
class ArgumentReader {
 public:
  explicit ArgumentReader(const CatalogEntry& entry) : entry_(entry), values_(entry.parameters.size()) {}

  Result<void> take(std::string_view argument) {
    const std::size_t equals = argument.find('=');
    if (equals != std::string_view::npos) {
      named_ = true;
      return take_named(trimmed(argument.substr(0, equals)), trimmed(argument.substr(equals + 1)));
    }
    if (named_)
      return bad_spec(entry_, fmt::format("{} has no name and follows a named value", quoted(argument)));
    if (next_ == values_.size()) return bad_spec(entry_, too_many());
    return set(next_++, argument);
  }

  Result<ParameterValues> finish() const {
    ParameterValues out;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const Parameter& parameter = entry_.parameters[i];
      const std::optional<double> value = values_[i] ? values_[i] : parameter.default_value;
      if (value)
        out.set(parameter.name, *value);
      else if (!parameter.optional)
        return bad_spec(entry_, fmt::format("missing parameter \"{}\" ({})", parameter.name, parameter.help));
    }
    return out;
  }

 private:
  Result<void> take_named(std::string_view name, std::string_view value) {
    const auto found = std::ranges::find(entry_.parameters, name, &Parameter::name);
    if (found == entry_.parameters.end()) return bad_spec(entry_, unknown_parameter(entry_, name));
    return set(static_cast<std::size_t>(found - entry_.parameters.begin()), value);
  }

  Result<void> set(std::size_t i, std::string_view text) {
    const Parameter& parameter = entry_.parameters[i];
    if (values_[i]) return bad_spec(entry_, fmt::format("duplicate parameter \"{}\"", parameter.name));
    const auto value = number_of(text);
    if (!value || !accepts(parameter, *value))
      return bad_spec(entry_, fmt::format("\"{}\" must be {}, not {}", parameter.name, range_text(parameter),
                                          quoted(text)));
    values_[i] = *value;
    return {};
  }

  std::string too_many() const {
    const std::size_t most = values_.size();
    if (most == 0) return "takes no parameters";
    return fmt::format("takes at most {} parameter{}", most, most == 1 ? "" : "s");
  }

  const CatalogEntry& entry_;
  std::vector<std::optional<double>> values_;
  std::size_t next_ = 0;  // the parameter that the next value without a name sets
  bool named_ = false;
};

Result<ParameterValues> parse_arguments(const CatalogEntry& entry, std::string_view list) {
  ArgumentReader reader(entry);
  list = trimmed(list);
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    MFL_CHECK(reader.take(trimmed(list.substr(0, comma))));
    if (comma + 1 == list.size()) return bad_spec(entry, "missing value after the last comma");
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return reader.finish();
}

std::string spec_text(const CatalogEntry& entry, const ParameterValues& values,
                      const std::function<bool(const Parameter&, double)>& wanted) {
  if (!entry.text.empty())
    return values.text().empty() ? entry.name : fmt::format("{}:{}", entry.name, values.text());
  std::string list;
  for (const Parameter& parameter : entry.parameters)
    if (const auto value = values.find(parameter.name); value && wanted(parameter, *value))
      list += fmt::format("{}{}={}", list.empty() ? "" : ", ", parameter.name, *value);
  return list.empty() ? entry.name : fmt::format("{}({})", entry.name, list);
}

std::string canonical_text(const CatalogEntry& entry, const ParameterValues& values) {
  return spec_text(entry, values, [](const Parameter&, double) { return true; });
}

// Parses the text of NAME:TEXT, which may have any character.
Result<ParameterValues> parse_text(const CatalogEntry& entry, std::string_view text) {
  if (entry.text.empty()) return bad_spec(entry, fmt::format("unexpected {}", quoted(text)));
  text.remove_prefix(1);
  if (text.empty()) return bad_spec(entry, fmt::format("missing {}", entry.text));
  ParameterValues values;
  values.set_text(text);
  return values;
}

// Parses the list of NAME(LIST); NAME alone has an empty list.
Result<ParameterValues> parse_list(const CatalogEntry& entry, std::string_view list) {
  list = trimmed(list);
  if (!entry.text.empty() && !(entry.text_optional && list.empty()))
    return bad_spec(entry, fmt::format("missing {}", entry.text));
  if (list.empty()) return parse_arguments(entry, list);
  const std::size_t close = list.find(')');
  if (close == std::string_view::npos) return bad_spec(entry, "missing \")\"");
  if (close + 1 != list.size())
    return bad_spec(entry, fmt::format("unexpected {} after \")\"", quoted(trimmed(list.substr(close + 1)))));
  return parse_arguments(entry, list.substr(1, close - 1));
}

}  // namespace

std::string range_text(const Parameter& parameter) {
  return fmt::format("a {} {}{}", parameter.whole ? "whole number" : "number", parameter.range.text,
                     parameter.may_be_infinite ? ", or inf" : "");
}

std::string brief_text(const CatalogEntry& entry, const ParameterValues& values, std::string_view without) {
  return spec_text(entry, values, [&](const Parameter& parameter, double value) {
    return parameter.name != without && parameter.default_value != value;
  });
}

std::string usage_text(const CatalogEntry& entry) {
  if (!entry.text.empty())
    return fmt::format(fmt::runtime(entry.text_optional ? "{}[:{}]" : "{}:{}"), entry.name, entry.text);
  std::string list;
  for (const Parameter& parameter : entry.parameters) {
    if (!list.empty()) list += ", ";
    if (parameter.default_value)
      list += fmt::format("{}={}", parameter.name, *parameter.default_value);
    else
      list += fmt::format(fmt::runtime(parameter.optional ? "[{}]" : "{}"), parameter.name);
  }
  return list.empty() ? entry.name : fmt::format("{}({})", entry.name, list);
}

std::string choice_text(const CatalogEntry& entry) {
  return entry.text.empty() || entry.text_optional ? entry.name : entry.name + ':';
}

std::optional<double> ParameterValues::find(std::string_view parameter) const {
  const auto found = std::ranges::find(values_, parameter, &std::pair<std::string, double>::first);
  return found == values_.end() ? std::nullopt : std::optional(found->second);
}

double ParameterValues::number(std::string_view parameter) const {
  const auto value = find(parameter);
  if (!value) throw std::out_of_range(fmt::format("no value for parameter {}", parameter));
  return *value;
}

std::uint64_t ParameterValues::count(std::string_view parameter) const {
  return static_cast<std::uint64_t>(number(parameter));
}

void ParameterValues::set(std::string_view parameter, double value) {
  const auto found = std::ranges::find(values_, parameter, &std::pair<std::string, double>::first);
  if (found != values_.end())
    found->second = value;
  else
    values_.emplace_back(parameter, value);
}

void CatalogIndex::check(const CatalogEntry& entry) const {
  std::vector<std::string_view> names = {entry.name};
  names.insert(names.end(), entry.aliases.begin(), entry.aliases.end());
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!is_word(names[i]))
      throw std::invalid_argument(fmt::format("bad {} name {}", kind_, quoted(names[i])));
    const auto before = std::span(names).first(i);
    if (find(names[i]) != nullptr || std::ranges::find(before, names[i]) != before.end())
      throw std::invalid_argument(fmt::format("duplicate {} name \"{}\"", kind_, names[i]));
  }
  if (!entry.text.empty() && !entry.parameters.empty())
    throw std::invalid_argument(fmt::format("{} {} has parameters beside its text", kind_, entry.name));
  for (std::size_t i = 0; i < entry.parameters.size(); ++i) {
    const Parameter& parameter = entry.parameters[i];
    const auto what = [&](std::string_view problem) {
      return std::invalid_argument(
          fmt::format("{} {}: {} {}", kind_, entry.name, problem, quoted(parameter.name)));
    };
    if (!is_word(parameter.name)) throw what("bad parameter name");
    if (parameter.range.holds == nullptr) throw what("no range for parameter");
    if (parameter.default_value && !accepts(parameter, *parameter.default_value))
      throw what("default outside the range of parameter");
    for (std::size_t j = 0; j < i; ++j)
      if (entry.parameters[j].name == parameter.name) throw what("duplicate parameter");
  }
}

void CatalogIndex::add(const CatalogEntry& entry) {
  check(entry);
  entries_.push_back(&entry);
}

const CatalogEntry* CatalogIndex::find(std::string_view name) const {
  for (const CatalogEntry* entry : entries_)
    if (entry->name == name || std::ranges::find(entry->aliases, name) != entry->aliases.end()) return entry;
  return nullptr;
}

Result<const CatalogEntry*> CatalogIndex::get(std::string_view name) const {
  if (const CatalogEntry* entry = find(name)) return entry;
  std::vector<std::string_view> words;
  std::string known;
  for (const CatalogEntry* entry : entries_) {
    words.emplace_back(entry->name);
    words.insert(words.end(), entry->aliases.begin(), entry->aliases.end());
    known += fmt::format("{}{}", known.empty() ? "" : ", ", entry->name);
  }
  const std::string problem =
      name.empty() ? fmt::format("missing {}", kind_)
                   : fmt::format("unknown {} {}{}", kind_, quoted(name), did_you_mean(name, words));
  return fail(ErrorCode::kBadConfig, problem, fmt::format("known: {}", known));
}

Result<CatalogIndex::Parsed> CatalogIndex::parse(std::string_view text) const {
  const std::size_t end = std::min(text.find_first_of("(:"), text.size());
  MFL_TRY(const CatalogEntry* entry, get(trimmed(text.substr(0, end))));
  const std::string_view rest = text.substr(end);
  MFL_TRY(ParameterValues values,
          rest.starts_with(':') ? parse_text(*entry, rest) : parse_list(*entry, rest));
  std::string canonical = canonical_text(*entry, values);
  return Parsed{entry, std::move(values), std::move(canonical)};
}

}  // namespace mfl
