#include "mfl/base/visible.h"

#include <fmt/format.h>

#include <cstdint>

namespace mfl {
namespace {

struct Character {
  std::size_t bytes = 1;
  bool plain = false;
};

bool is_control(std::uint32_t code) {
  const auto within = [code](std::uint32_t first, std::uint32_t last) {
    return code >= first && code <= last;
  };
  return code < 0x20 || within(0x7f, 0x9f) || within(0x200b, 0x200f) || within(0x2028, 0x202e) ||
         within(0x2060, 0x206f) || code == 0xfeff;
}

// The first character of a text that is not empty.
Character first_character(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return {1, !is_control(lead)};
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return {};
  std::uint32_t code = lead & (0x7fU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xc0U) != 0x80U) return {};
    code = code << 6U | (next & 0x3fU);
  }
  const bool overlong = (bytes == 3 && code < 0x800) || (bytes == 4 && code < 0x10000);
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  if (overlong || surrogate || code > 0x10ffff) return {};
  return {bytes, !is_control(code)};
}

}  // namespace

std::string visible(std::string_view text, std::size_t most) {
  constexpr std::size_t kEscaped = 4;
  std::string out;
  std::size_t at = 0;
  while (at < text.size()) {
    const Character next = first_character(text.substr(at));
    if (out.size() + next.bytes * (next.plain ? 1 : kEscaped) > most) break;
    for (const char c : text.substr(at, next.bytes))
      if (next.plain)
        out += c;
      else
        out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    at += next.bytes;
  }
  if (at < text.size()) out += fmt::format("... ({} bytes)", text.size());
  return out;
}

}  // namespace mfl
