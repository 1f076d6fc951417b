#include "mfl/network/address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mfl/network/client.h"

namespace mfl {
namespace {

using ::testing::HasSubstr;

TEST(Address, HostAndPort) {
  const struct {
    const char *text, *host;
    std::uint16_t port;
  } rows[] = {{"127.0.0.1:7443", "127.0.0.1", 7443},
              {"fl.example.org:65535", "fl.example.org", 65535},
              {"[::1]:1", "::1", 1},
              {"[::]:7443", "::", 7443},
              {":7443", "", 7443}};
  for (const auto& row : rows)
    for (const PortZero zero : {PortZero::kAnyFree, PortZero::kRefused}) {
      const auto parsed = parse_address("--listen", row.text, zero);
      ASSERT_TRUE(parsed) << row.text;
      EXPECT_EQ(parsed->host, row.host);
      EXPECT_EQ(parsed->port, row.port);
    }
  EXPECT_EQ(parse_address("--listen", "localhost:0", PortZero::kAnyFree)->port, 0);
}

TEST(Address, WhatIsNone) {
  const std::pair<const char*, const char*> rows[] = {
      {"127.0.0.1:70000", "--listen 127.0.0.1:70000: the port must be a number from 0 to 65535"},
      {"127.0.0.1:65536", "0 to 65535"},
      {"127.0.0.1:4294967297", "0 to 65535"},
      {"127.0.0.1:99999999999999999999999", "0 to 65535"},
      {"127.0.0.1:-1", "0 to 65535"},
      {"127.0.0.1:+1", "0 to 65535"},
      {"127.0.0.1:", "0 to 65535"},
      {"127.0.0.1:http", "0 to 65535"},
      {"127.0.0.1:80 ", "0 to 65535"},
      {"127.0.0.1", "has no port"},
      {"", "has no port"},
      {"[::1]", "has no port"},
      {"::1:7443", "an IPv6 address must be in brackets"}};
  for (const auto& [text, why] : rows) {
    const auto parsed = parse_address("--listen", text, PortZero::kAnyFree);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::kBadConfig);
    EXPECT_THAT(parsed.error().message, HasSubstr(why));
  }
  EXPECT_THAT(parse_address("--server", "a:0", PortZero::kRefused).error().message,
              HasSubstr("--server a:0: the port must be a number from 1 to 65535"));
}

TEST(Client, ALargeUpdateHasTimeToArriveOverASlowLine) {
  constexpr std::uint64_t kBytes = 40'000'000;
  constexpr std::uint64_t kHalfMegabit = 500'000 / 8;  // bytes per second
  EXPECT_GT(upload_patience(kBytes).count(), static_cast<std::int64_t>(kBytes / kHalfMegabit));
  EXPECT_GE(upload_patience(0).count(), 600);
  EXPECT_GT(upload_patience(std::uint64_t{1} << 40U), upload_patience(kBytes));
}

}  // namespace
}  // namespace mfl
