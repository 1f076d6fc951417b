#include "mfl/data/tar.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "mfl/data/text.h"

namespace mfl {
namespace {

constexpr std::size_t kTarBlock = 512;
constexpr const char* kGetTarAgain = "get the file again";

struct Field {
  std::size_t start, length;
};
constexpr Field kTarName{0, 100}, kSize{124, 12}, kChecksum{148, 8}, kTarMagic{257, 5}, kPrefix{345, 155};
constexpr std::size_t kType = 156;

// Up to the first zero byte.
std::string_view text_of(std::string_view header, const Field& field) {
  const std::string_view text = header.substr(field.start, field.length);
  return text.substr(0, text.find('\0'));
}

std::optional<std::uint64_t> octal(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  text = text.substr(0, text.find(' '));
  std::uint64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '7') return std::nullopt;
    value = value * 8 + static_cast<std::uint64_t>(c - '0');
  }
  return text.empty() ? std::nullopt : std::optional(value);
}

// The sum of all bytes of the header, in which the checksum itself counts as blanks.
std::uint64_t checksum(std::string_view header) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < kTarBlock; ++i) {
    const bool own = i >= kChecksum.start && i < kChecksum.start + kChecksum.length;
    sum += own ? std::uint64_t{' '} : static_cast<unsigned char>(header[i]);
  }
  return sum;
}

std::string name_of(std::string_view header) {
  const std::string name(text_of(header, kTarName));
  const std::string_view prefix =
      text_of(header, kTarMagic) == "ustar" ? text_of(header, kPrefix) : std::string_view();
  return prefix.empty() ? name : std::string(prefix) + "/" + name;
}

}  // namespace

Result<std::map<std::string, std::string_view>> tar_members(std::string_view bytes,
                                                            const std::filesystem::path& path) {
  std::map<std::string, std::string_view> members;
  std::size_t at = 0;
  while (at + kTarBlock <= bytes.size()) {
    const std::string_view header = bytes.substr(at, kTarBlock);
    if (header.find_first_not_of('\0') == std::string_view::npos) return members;
    const auto size = octal(text_of(header, kSize));
    if (!size || octal(text_of(header, kChecksum)) != checksum(header))
      return bad_file(path, fmt::format("no tar header at byte {}", at), kGetTarAgain);
    at += kTarBlock;
    if (*size > bytes.size() - at) break;
    const char type = header[kType];
    if (type == '0' || type == '\0') members[name_of(header)] = bytes.substr(at, *size);
    at = std::min(bytes.size(), at + (*size + kTarBlock - 1) / kTarBlock * kTarBlock);
  }
  if (at == bytes.size() && !members.empty()) return members;
  return bad_file(path, fmt::format("the tar archive is cut short at byte {}", bytes.size()), kGetTarAgain);
}

}  // namespace mfl
