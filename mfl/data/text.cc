#include "mfl/data/text.h"

#include <fmt/core.h>

#include <charconv>

#include "mfl/base/files.h"

namespace mfl {

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const auto begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

std::optional<double> parse_number(std::string_view text) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> parse_count(std::string_view text) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

std::string excerpt(std::string_view text) {
  constexpr std::size_t kLongest = 40;
  std::string shown = "'";
  for (const char c : text.substr(0, kLongest)) shown += c >= ' ' && c != 127 ? c : '?';
  shown += text.size() > kLongest ? "...'" : "'";
  return shown;
}

Result<std::string> read_data_file(const std::filesystem::path& path) {
  auto bytes = read_file(path);
  if (!bytes) bytes.error().hint = kCheckPath;
  return bytes;
}

tl::unexpected<Error> bad_file(const std::filesystem::path& path, std::string_view what, std::string hint) {
  return fail(ErrorCode::kBadData, fmt::format("{}: {}", path.string(), what), std::move(hint));
}

tl::unexpected<Error> bad_line(const std::filesystem::path& path, std::size_t line, std::string_view what,
                               std::string hint) {
  return fail(ErrorCode::kBadData, fmt::format("{}, line {}: {}", path.string(), line, what),
              std::move(hint));
}

}  // namespace mfl
