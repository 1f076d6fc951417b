// A number's change x - s as the 16 high bits of an f32, rounded to nearest, ties to even, little-endian; the server adds it to s. In f64 the
// change is rounded to f32 first. A change too large for bfloat16 becomes infinite, and NaN stays NaN: such an update is refused.
#include <bit>
#include <cstdint>

#include "mfl/codec/built_in.h"

namespace mfl {
namespace {

constexpr unsigned kDropped = 16;

std::uint16_t to_bf16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  constexpr std::uint32_t kQuietNan = 0x7fc0;
  if (x != x) return kQuietNan;
  const std::uint32_t half = 0x7fff + ((bits >> kDropped) & 1U);
  return static_cast<std::uint16_t>((bits + half) >> kDropped);
}

float from_bf16(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << kDropped); }

class Bf16 final : public CodecOf<Bf16> {
 public:
  using CodecOf::CodecOf;

  std::string_view encoding() const override { return "bf16"; }
  std::size_t bytes_per_number() const override { return sizeof(std::uint16_t); }

  template <class T>
  void write(const UpdateVector<const T>& from, char* bytes) const {
    for (std::size_t i = 0; i < from.values.size(); ++i) {
      const std::uint16_t bits = to_bf16(static_cast<float>(from.values[i] - from.origin[i]));
      bytes[2 * i] = static_cast<char>(static_cast<unsigned char>(bits));
      bytes[2 * i + 1] = static_cast<char>(static_cast<unsigned char>(bits >> 8U));
    }
  }

  template <class T>
  void read(const char* bytes, const UpdateVector<T>& to) const {
    for (std::size_t i = 0; i < to.values.size(); ++i) {
      const auto low = static_cast<unsigned char>(bytes[2 * i]),
                 high = static_cast<unsigned char>(bytes[2 * i + 1]);
      const float change = from_bf16(static_cast<std::uint16_t>(low | high << 8U));
      to.values[i] = to.origin[i] + static_cast<T>(change);
    }
  }
};

}  // namespace

std::unique_ptr<const Codec> make_bf16(std::string spec) { return std::make_unique<Bf16>(std::move(spec)); }

}  // namespace mfl
