#include "mfl/network/transport/framing.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace mfl {
namespace {

constexpr unsigned kByteBits = 8, kByteMask = 0xff;

std::uint32_t length_in(std::string_view prefix) {
  std::uint32_t length = 0;
  for (std::size_t i = 1; i < kPrefixBytes; ++i)
    length = (length << kByteBits) | static_cast<unsigned char>(prefix[i]);
  return length;
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

std::array<char, kPrefixBytes> message_prefix(std::size_t size) {
  std::array<char, kPrefixBytes> prefix{};
  for (std::size_t i = kPrefixBytes; --i > 0; size >>= kByteBits)
    prefix[i] = static_cast<char>(static_cast<unsigned char>(size & kByteMask));
  return prefix;
}

MessageSplitter::Fault MessageSplitter::feed(std::string_view bytes,
                                             const std::function<bool(std::string_view)>& take) {
  if (fault_ == Fault::kNone) fault_ = split(bytes, take);
  return fault_;
}

MessageSplitter::Fault MessageSplitter::split(std::string_view bytes,
                                              const std::function<bool(std::string_view)>& take) {
  while (!bytes.empty()) {
    const std::size_t head = std::min(kPrefixBytes - prefixed_, bytes.size());
    bytes.copy(prefix_.data() + prefixed_, head);
    prefixed_ += head;
    bytes.remove_prefix(head);
    if (prefixed_ < kPrefixBytes) return Fault::kNone;
    if (prefix_[0] != 0) return Fault::kCompressed;
    const std::size_t length = length_in({prefix_.data(), kPrefixBytes});
    if (length > most_) return Fault::kTooLong;
    const std::size_t more = std::min(length - held_.size(), bytes.size());
    const std::string_view part = bytes.substr(0, more);
    const bool is_whole = more == length;
    if (!is_whole) held_.append(part);
    bytes.remove_prefix(more);
    if (!is_whole && held_.size() < length) return Fault::kNone;
    prefixed_ = 0;
    const bool wanted = take(is_whole ? part : std::string_view(held_));
    held_.clear();
    if (!wanted) return Fault::kNone;
  }
  return Fault::kNone;
}

std::string MessageSplitter::own(std::string_view message, std::string buffer) {
  if (message.data() == held_.data()) return std::exchange(held_, std::move(buffer));
  buffer.assign(message);
  return buffer;
}

std::string percent_encoded(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  constexpr unsigned kNibble = 4, kLowNibble = 0xf;
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c >= ' ' && c <= '~' && c != '%') {
      out += c;
    } else {
      out += '%';
      out += kDigits[byte >> kNibble];
      out += kDigits[byte & kLowNibble];
    }
  }
  return out;
}

std::string percent_decoded(std::string_view text) {
  constexpr int kSixteen = 16;
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && hex_value(text[i + 1]) >= 0 && hex_value(text[i + 2]) >= 0) {
      out += static_cast<char>(hex_value(text[i + 1]) * kSixteen + hex_value(text[i + 2]));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace mfl
