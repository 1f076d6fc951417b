// SHA-256 (OpenSSL).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace mfl {

// Feeds bytes in any number of pieces. Not thread-safe.
class Sha256 {
 public:
  Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;
  ~Sha256();

  Sha256& update(std::span<const std::byte> bytes);
  Sha256& update(std::string_view text);
  Sha256& update(std::uint64_t number);  // as 8 little-endian bytes
  Sha256& update(double number);         // its IEEE bits as 8 little-endian bytes
  // Ends the message; the object must not be used afterwards.
  std::array<std::byte, 32> finish();
  std::string finish_hex();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

std::string sha256_hex(std::string_view text);

}  // namespace mfl
