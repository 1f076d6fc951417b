#include "mfl/study/value_reader.h"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "mfl/base/nearest.h"

namespace mfl {

using Kind = FileValue::Kind;

std::string quoted_text(std::string_view text) {
  std::string out;
  for (const char c : text) out += static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? '?' : c;
  return '"' + out + '"';
}

tl::unexpected<Error> ValueReader::wrong(std::uint32_t line, std::string_view message,
                                         std::string hint) const {
  return fail(ErrorCode::kBadConfig, fmt::format("{}:{}: {}", file_, line, message), std::move(hint));
}

Result<void> ValueReader::check_keys(const FileValue& table, std::string_view where, Words known) const {
  for (const auto& [key, value] : table.members)
    if (std::ranges::find(known, key) == known.end())
      return wrong(value.line,
                   fmt::format("unknown key {} in {}{}", quoted_text(key), where, did_you_mean(key, known)),
                   fmt::format("the keys are {}", fmt::join(known, ", ")));
  return {};
}

Result<const FileValue*> ValueReader::need(const FileValue& table, std::string_view key,
                                           std::string_view where) const {
  if (const FileValue* value = table.find(key)) return value;
  return wrong(table.line, fmt::format("{} has no {}", where, key), "docs/study.md has an example");
}

Result<std::string> ValueReader::text_of(const FileValue& value, std::string_view what) const {
  if (value.kind == Kind::kText && !value.text.empty()) return value.text;
  return wrong(value.line,
               fmt::format("{}: must be a string that is not empty{}", what,
                           value.kind == Kind::kText ? "" : fmt::format(", not {}", kind_name(value.kind))));
}

Result<double> ValueReader::number_of(const FileValue& value, std::string_view what) const {
  double number = 0;
  const char* end = value.text.data() + value.text.size();
  const bool a_number = value.kind == Kind::kInteger || value.kind == Kind::kNumber;
  if (!a_number || std::from_chars(value.text.data(), end, number).ptr != end || !std::isfinite(number))
    return wrong(value.line, fmt::format("{}: must be a finite number{}", what,
                                         a_number ? "" : fmt::format(", not {}", kind_name(value.kind))));
  return number;
}

Result<const std::vector<FileValue>*> ValueReader::list_of(const FileValue& value,
                                                           std::string_view what) const {
  if (value.kind != Kind::kList)
    return wrong(value.line, fmt::format("{}: must be an array, not {}", what, kind_name(value.kind)));
  if (value.items.empty()) return wrong(value.line, fmt::format("{}: the array is empty", what));
  return &value.items;
}

Result<std::vector<std::string>> ValueReader::texts_of(const FileValue& value, std::string_view what) const {
  MFL_TRY(const auto* items, list_of(value, what));
  std::vector<std::string> texts;
  for (const FileValue& item : *items) {
    MFL_TRY(std::string text, text_of(item, what));
    if (std::ranges::find(texts, text) != texts.end())
      return wrong(item.line, fmt::format("{}: {} is there twice", what, quoted_text(text)));
    texts.push_back(std::move(text));
  }
  return texts;
}

Result<std::vector<double>> ValueReader::numbers_of(const FileValue& value, std::string_view what) const {
  MFL_TRY(const auto* items, list_of(value, what));
  std::vector<double> numbers;
  for (const FileValue& item : *items) {
    MFL_TRY(const double number, number_of(item, what));
    numbers.push_back(number);
  }
  std::ranges::sort(numbers);
  if (const auto same = std::ranges::adjacent_find(numbers); same != numbers.end())
    return wrong(value.line, fmt::format("{}: {} is there twice", what, *same));
  return numbers;
}

Result<std::vector<double>> ValueReader::steps_of(const FileValue& value, std::string_view what) const {
  MFL_TRY(std::vector<double> steps, numbers_of(value, what));
  if (steps.front() <= 0)
    return wrong(value.line, fmt::format("{}: {} is not a step size; they are > 0", what, steps.front()));
  return steps;
}

Result<std::vector<std::uint64_t>> ValueReader::seeds_of(const FileValue& value,
                                                         std::string_view what) const {
  MFL_TRY(const auto* items, list_of(value, what));
  std::vector<std::uint64_t> seeds;
  for (const FileValue& item : *items) {
    std::uint64_t seed = 0;
    const char* end = item.text.data() + item.text.size();
    if (item.kind != Kind::kInteger || std::from_chars(item.text.data(), end, seed).ptr != end)
      return wrong(item.line, fmt::format("{}: a seed is an integer >= 0", what));
    if (std::ranges::find(seeds, seed) != seeds.end())
      return wrong(item.line, fmt::format("{}: {} is there twice", what, seed));
    seeds.push_back(seed);
  }
  return seeds;
}

Result<std::vector<KeyValue>> ValueReader::overrides_of(const FileValue& value, std::string_view what,
                                                        std::string_view table) const {
  if (value.kind != Kind::kTable)
    return wrong(value.line, fmt::format("{}: must be a table of keys, not {}", what, kind_name(value.kind)));
  std::vector<KeyValue> out;
  MFL_CHECK(add_overrides(out, value, std::string(table), what));
  return out;
}

Result<void> ValueReader::add_overrides(std::vector<KeyValue>& out, const FileValue& value,
                                        const std::string& table, std::string_view what) const {
  for (const auto& [key, member] : value.members) {
    const bool whole = table.empty() || key.find('.') != std::string::npos;
    const std::string name = whole ? key : table + "." + key;
    if (member.kind == Kind::kTable) {
      MFL_CHECK(add_overrides(out, member, key, what));
      continue;
    }
    Config ignored;
    if (member.kind == Kind::kList || member.kind == Kind::kOther)
      return wrong(member.line, fmt::format("{}: {} must be a single value, not {}", what, quoted_text(name),
                                            kind_name(member.kind)));
    if (auto set = set_key(ignored, name, member.text, fmt::format("{}: {} = {}", what, name, member.text));
        !set)
      return wrong(member.line, set.error().text(), set.error().hint);
    out.emplace_back(name, member.text);
  }
  return {};
}

}  // namespace mfl
