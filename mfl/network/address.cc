#include "mfl/network/address.h"

#include <fmt/core.h>

#include <charconv>
#include <limits>

namespace mfl {

Result<Address> parse_address(std::string_view flag, std::string_view text, PortZero zero) {
  const auto bad = [&](std::string_view why) {
    return fail(ErrorCode::kBadConfig, fmt::format("{} {}: {}", flag, text, why),
                "write HOST:PORT, such as fl.example.org:7443 or [::1]:7443");
  };
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || text.ends_with(']')) return bad("has no port");
  std::string_view host = text.substr(0, colon);
  const std::string_view digits = text.substr(colon + 1);
  if (host.starts_with('[') && host.ends_with(']'))
    host = host.substr(1, host.size() - 2);
  else if (host.find(':') != std::string_view::npos)
    return bad("an IPv6 address must be in brackets");

  std::uint64_t port = 0;
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  const bool parsed = error == std::errc{} && stop == digits.data() + digits.size();
  const unsigned least = zero == PortZero::kAnyFree ? 0 : 1;
  if (!parsed || port < least || port > std::numeric_limits<std::uint16_t>::max())
    return bad(fmt::format("the port must be a number from {} to 65535", least));
  return Address{std::string(host), static_cast<std::uint16_t>(port)};
}

}  // namespace mfl
