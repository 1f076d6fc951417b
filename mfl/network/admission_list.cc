#include "mfl/network/admission_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <optional>
#include <utility>

#include "mfl/base/visible.h"

namespace mfl {
namespace {

using Words = std::vector<std::string>;

constexpr std::size_t kMostWarnings = 20;
constexpr std::string_view kLimit = "max_samples=";

bool is_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

// Of lower-case text.
bool is_name(std::string_view word) {
  constexpr std::size_t kLongest = 253;
  return !word.empty() && word.size() <= kLongest && std::ranges::all_of(word, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
  });
}

std::string from_utf16(std::string_view text, bool big_endian) {
  constexpr unsigned kAscii = 0x80;
  std::string out;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    const auto first = static_cast<unsigned char>(text[i]), second = static_cast<unsigned char>(text[i + 1]);
    const unsigned unit = big_endian ? first << 8U | second : second << 8U | first;
    out += unit < kAscii ? static_cast<char>(unit) : '?';  // no entry has such a character
  }
  if (text.size() % 2 != 0) out += '?';
  return out;
}

std::string decoded(std::string_view text) {
  if (text.starts_with("\xff\xfe")) return from_utf16(text.substr(2), false);
  if (text.starts_with("\xfe\xff")) return from_utf16(text.substr(2), true);
  return std::string(text);
}

// Blanks that come with pasted text, byte order marks among them.
void replace_odd_blanks(std::string& text) {
  for (const std::string_view blank : {"\xc2\xa0", "\xe2\x80\x8b", "\xe2\x80\x8e", "\xef\xbb\xbf"})
    for (std::size_t at = text.find(blank); at != std::string::npos; at = text.find(blank, at))
      text.replace(at, blank.size(), 1, ' ');
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of("\r\n"), text.size());
    lines.push_back(text.substr(0, end));
    const bool crlf = text.substr(end).starts_with("\r\n");
    text.remove_prefix(std::min(text.size(), end + (crlf ? 2 : 1)));
  }
  return lines;
}

Words words_of(std::string_view line) {
  Words words;
  constexpr std::string_view kBlanks = " \t\v\f,;\"'";
  for (std::size_t at = line.find_first_not_of(kBlanks); at != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(kBlanks, at), line.size());
    words.emplace_back(line.substr(at, end - at));
    at = line.find_first_not_of(kBlanks, end);
  }
  return words;
}

// The rest of a line that says in words that it is a serial number.
std::optional<std::string_view> after_serial(std::string_view line) {
  const auto skip_blanks = [&] { line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size())); };
  skip_blanks();
  if (!line.starts_with("serial")) return std::nullopt;
  line.remove_prefix(std::string_view("serial").size());
  skip_blanks();
  if (line.starts_with("number")) line.remove_prefix(std::string_view("number").size());
  skip_blanks();
  if (!line.starts_with('=') && !line.starts_with(':')) return std::nullopt;
  return line.substr(1);
}

std::string joined(const Words& words) {
  std::string out;
  for (const std::string& word : words) out += word;
  return out;
}

bool is_pair(std::string_view word) { return word.size() == 2 && is_hex(word[0]) && is_hex(word[1]); }

// The serial number that the whole line is, in a form that no name has.
std::string serial_line(std::string_view line) {
  if (const auto rest = after_serial(line)) return normal_serial(joined(words_of(*rest)));
  const Words words = words_of(line);
  if (words.size() > 1 && std::ranges::all_of(words, is_pair)) return normal_serial(joined(words));
  if (words.size() == 1 && !is_name(words[0])) return normal_serial(words[0]);
  if (words.size() == 1 && words[0].starts_with("0x")) return normal_serial(words[0]);
  return {};
}

std::optional<std::uint64_t> limit_of(std::string_view word) {
  if (!word.starts_with(kLimit)) return std::nullopt;
  word.remove_prefix(kLimit.size());
  std::uint64_t limit = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), limit);
  if (error != std::errc{} || end != word.data() + word.size() || limit == 0) return std::nullopt;
  return limit;
}

bool add_allowed(std::string_view line, AdmissionList& list) {
  if (std::string serial = serial_line(line); !serial.empty()) {
    list.serials.insert(std::move(serial));
    return true;
  }
  Words words = words_of(line);
  if (!is_name(words[0]) || words.size() > 2) return false;
  if (words.size() == 2) {
    const auto limit = limit_of(words[1]);
    if (!limit) return false;
    const auto [known, fresh] = list.max_samples.emplace(words[0], *limit);
    known->second = std::min(known->second, *limit);
  }
  list.names.insert(std::move(words[0]));
  return true;
}

bool add_revoked(std::string_view line, AdmissionList& list) {
  const std::string whole = serial_line(line);
  if (!whole.empty()) list.serials.insert(whole);
  const auto rest = after_serial(line);
  if (rest && !whole.empty()) return true;
  const Words words = words_of(rest.value_or(line));
  bool all = !words.empty() && (!rest || !normal_serial(words[0]).empty());
  for (const std::string& word : words) {
    const std::string serial = normal_serial(word);
    if (!serial.empty()) list.serials.insert(serial);
    if (is_name(word)) list.names.insert(word);
    all = all && (!serial.empty() || is_name(word));
  }
  return all;
}

std::string expectation(AdmissionList::Kind kind) {
  return kind == AdmissionList::Kind::kAllowed
             ? "a line is NAME, NAME max_samples=N, or serial=HEX; nobody is admitted by this one"
             : "a line is a name or a serial number in hexadecimal; this one revokes nobody, or not all it "
               "lists";
}

}  // namespace

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

std::string normal_serial(std::string_view text) {
  const std::string lower = lower_case(text);
  std::string_view rest = lower;
  if (rest.starts_with("serial=")) rest.remove_prefix(std::string_view("serial=").size());
  const bool negative = rest.starts_with('-');
  if (negative) rest.remove_prefix(1);
  if (rest.starts_with("0x")) rest.remove_prefix(2);
  std::string digits;
  for (std::size_t i = 0; i < rest.size(); ++i) {
    const bool separator = rest[i] == ':' && i > 0 && rest[i - 1] != ':' && i + 1 < rest.size();
    if (!is_hex(rest[i]) && !separator) return {};
    if (is_hex(rest[i])) digits += rest[i];
  }
  if (digits.empty()) return {};
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size() - 1));
  return (negative ? "-" : "") + digits;
}

bool AdmissionList::has(std::string_view name, std::string_view serial) const {
  if (names.contains(lower_case(name))) return true;
  const std::string normal = normal_serial(serial);
  return !normal.empty() && serials.contains(normal);
}

AdmissionList parse_admission_list(std::string_view text, AdmissionList::Kind kind) {
  constexpr std::size_t kShown = 60;
  std::string clean = decoded(text);
  replace_odd_blanks(clean);
  AdmissionList list;
  std::size_t number = 0, unused = 0;
  for (const std::string_view line : lines_of(clean)) {
    ++number;
    const std::string entry = lower_case(line.substr(0, line.find('#')));
    if (words_of(entry).empty()) continue;
    if (kind == AdmissionList::Kind::kAllowed ? add_allowed(entry, list) : add_revoked(entry, list)) continue;
    if (++unused <= kMostWarnings)
      list.warnings.push_back(
          {{}, number, fmt::format("\"{}\": {}", visible(line, kShown), expectation(kind))});
  }
  if (unused > kMostWarnings)
    list.warnings.push_back({{}, 0, fmt::format("{} more lines are not used", unused - kMostWarnings)});
  return list;
}

}  // namespace mfl
