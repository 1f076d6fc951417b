#include "mfl/base/digest.h"

#include <openssl/evp.h>

#include <bit>
#include <new>
#include <stdexcept>

namespace mfl {

struct Sha256::Context {
  EVP_MD_CTX* evp = EVP_MD_CTX_new();
  ~Context() { EVP_MD_CTX_free(evp); }
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {
  if (context_->evp == nullptr) throw std::bad_alloc();
  if (EVP_DigestInit_ex(context_->evp, EVP_sha256(), nullptr) != 1)
    throw std::runtime_error("OpenSSL has no SHA-256");
}
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;
Sha256::~Sha256() = default;

Sha256& Sha256::update(std::span<const std::byte> bytes) {
  EVP_DigestUpdate(context_->evp, bytes.data(), bytes.size());
  return *this;
}

Sha256& Sha256::update(std::string_view text) {
  return update(std::as_bytes(std::span(text.data(), text.size())));
}

Sha256& Sha256::update(std::uint64_t number) {
  std::array<std::byte, 8> bytes{};
  for (unsigned i = 0; i < 8; ++i) bytes[i] = static_cast<std::byte>((number >> (8 * i)) & 0xff);
  return update(std::span<const std::byte>(bytes));
}

Sha256& Sha256::update(double number) { return update(std::bit_cast<std::uint64_t>(number)); }

std::array<std::byte, 32> Sha256::finish() {
  std::array<std::byte, 32> out{};
  EVP_DigestFinal_ex(context_->evp, reinterpret_cast<unsigned char*>(out.data()), nullptr);
  return out;
}

std::string Sha256::finish_hex() {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (const std::byte b : finish()) {
    hex += kDigits[std::to_integer<unsigned>(b) >> 4];
    hex += kDigits[std::to_integer<unsigned>(b) & 15];
  }
  return hex;
}

std::string sha256_hex(std::string_view text) { return Sha256{}.update(text).finish_hex(); }

}  // namespace mfl
