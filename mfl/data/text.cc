#include "mfl/data/text.h"

#include <fmt/core.h>

#include <array>
#include <charconv>

#include "mfl/base/files.h"

namespace mfl {
namespace {

// The length of the well-formed UTF-8 sequence at the start of `text`, or 0.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  std::uint32_t point = first & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return 0;
    point = (point << 6U) | (byte(i) & 0x3FU);
  }
  const bool overlong = (length == 3 && point < 0x800) || (length == 4 && point < 0x10000);
  const bool surrogate = point >= 0xD800 && point <= 0xDFFF;
  return overlong || surrogate || point > 0x10FFFF ? 0 : length;
}

// The powers of ten that a double holds exactly.
constexpr std::array<double, 23> kTens = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                          1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                          1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

const char* read_digits(const char* at, const char* end, std::uint64_t& value) {
  for (; at < end && *at >= '0' && *at <= '9'; ++at)
    value = value * 10 + static_cast<std::uint64_t>(*at - '0');
  return at;
}

}  // namespace

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
  if (text.empty() || read_number(text.data(), end, value) != end) return std::nullopt;
  return value;
}

const char* read_number(const char* begin, const char* end, double& value) {
  const bool negative = begin < end && *begin == '-';
  const char* const whole = begin + (negative ? 1 : 0);
  std::uint64_t digits = 0;
  const char* at = read_digits(whole, end, digits);
  std::ptrdiff_t count = at - whole;
  std::ptrdiff_t places = 0;
  if (at < end && *at == '.') {
    const char* const fraction = at + 1;
    at = read_digits(fraction, end, digits);
    places = at - fraction;
    count = places == 0 ? 0 : count + places;
  }
  // Both operands are exact, so the quotient is the nearest double, which is what from_chars gives.
  constexpr std::ptrdiff_t kMostDigits = 19;
  constexpr std::uint64_t kLargestExact = std::uint64_t{1} << 53U;
  if (count > 0 && count <= kMostDigits && digits <= kLargestExact &&
      (at == end || (*at != 'e' && *at != 'E'))) {
    const double size = static_cast<double>(digits) / kTens[static_cast<std::size_t>(places)];
    value = negative ? -size : size;
    return at;
  }
  const auto [stop, error] = std::from_chars(begin, end, value);
  return error == std::errc{} ? stop : nullptr;
}

std::optional<std::uint64_t> parse_count(std::string_view text) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string as_utf8(std::string_view text) {
  if (is_utf8(text)) return std::string(text);
  std::string out;
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (code >= 0x80U) out += static_cast<char>(0xC0U | (code >> 6U));
    out += static_cast<char>(code >= 0x80U ? 0x80U | (code & 0x3FU) : code);
  }
  return out;
}

std::string excerpt(std::string_view text, std::size_t longest) {
  std::string shown = "'";
  for (const char c : text.substr(0, longest)) shown += c >= ' ' && c != 127 ? c : '?';
  shown += text.size() > longest ? "...'" : "'";
  return shown;
}

Result<void> refuse_packed(const FileBytes& file) {
  if (file.bytes.starts_with("\x1f\x8b"))
    return bad_file(file.path, "the file is compressed with gzip",
                    "unpack it with gunzip and name what comes out");
  if (file.bytes.starts_with("PK\x03\x04"))
    return bad_file(file.path, "the file is a ZIP archive or a spreadsheet",
                    "unpack it, or save the sheet as CSV");
  return {};
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
