#include "mfl/network/address.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

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

TEST(Address, RefusesOtherText) {
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

SocketAddress numeric(const std::string& text) {
  SocketAddress out;
  auto& four = reinterpret_cast<sockaddr_in&>(out.storage);
  auto& six = reinterpret_cast<sockaddr_in6&>(out.storage);
  if (::inet_pton(AF_INET, text.c_str(), &four.sin_addr) == 1) {
    four.sin_family = AF_INET;
    out.size = sizeof four;
  } else {
    EXPECT_EQ(::inet_pton(AF_INET6, text.c_str(), &six.sin6_addr), 1) << text;
    six.sin6_family = AF_INET6;
    out.size = sizeof six;
  }
  return out;
}

TEST(Loopback, IsDecidedByTheAddress) {
  for (const char* text : {"127.0.0.1", "127.255.255.254", "::1", "::ffff:127.0.0.1", "::ffff:127.9.9.9"})
    EXPECT_TRUE(is_loopback(numeric(text).get())) << text;
  for (const char* text : {"0.0.0.0", "126.255.255.255", "128.0.0.1", "10.0.0.127", "::", "::2",
                           "::127.0.0.1", "::ffff:10.0.0.1", "::ffff:0.0.0.0", "fe80::1", "7f00::1"})
    EXPECT_FALSE(is_loopback(numeric(text).get())) << text;
  SocketAddress local;
  local.storage.ss_family = AF_UNIX;
  EXPECT_FALSE(is_loopback(local.get()));
}

TEST(Loopback, IsNotDecidedByTheText) {
  // A name service of our own.
  const auto resolver = [](const Address& address) -> Result<std::vector<SocketAddress>> {
    if (address.host == "localhost") return std::vector{numeric("203.0.113.5")};
    if (address.host == "127.evil.example") return std::vector{numeric("203.0.113.6")};
    if (address.host == "both.example") return std::vector{numeric("127.0.0.1"), numeric("2001:db8::1")};
    if (address.host == "here.example") return std::vector{numeric("127.0.1.1"), numeric("::1")};
    if (address.host == "nothing.example") return std::vector<SocketAddress>{};
    return fail(ErrorCode::kNetwork, "no such name");
  };
  const auto local = [&](const std::string& host) { return resolves_to_loopback({host, 7443}, resolver); };
  EXPECT_EQ(local("localhost"), false);
  EXPECT_EQ(local("127.evil.example"), false);
  EXPECT_EQ(local("both.example"), false) << "one of its addresses is elsewhere";
  EXPECT_EQ(local("here.example"), true);
  EXPECT_EQ(local("nothing.example"), false);
  EXPECT_FALSE(local("unknown.example"));
}

TEST(Loopback, IsDecidedByTheSystemsResolver) {
  for (const char* host : {"127.0.0.1", "::1", "127.1", "::ffff:127.0.0.1"})
    EXPECT_EQ(resolves_to_loopback({host, 1}), true) << host;
  for (const char* host : {"", "0.0.0.0", "::", "203.0.113.5"})
    EXPECT_EQ(resolves_to_loopback({host, 1}), false) << host;
}

}  // namespace
}  // namespace mfl
