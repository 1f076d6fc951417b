// HOST:PORT as it is written in flags.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "mfl/base/result.h"

namespace mfl {

struct Address {
  std::string host;  // a name or an address, without brackets; empty means every interface, where one listens
  std::uint16_t port = 0;
};

enum class PortZero { kAnyFree, kRefused };

// HOST:PORT, IPv6 addresses in brackets. Errors are kBadConfig and start with `flag` and the text.
Result<Address> parse_address(std::string_view flag, std::string_view text, PortZero zero);

}  // namespace mfl
