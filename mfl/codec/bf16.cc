// A number's change as the 16 high bits of an f32, rounded to nearest, ties to even, little-endian. In f64
// the change is rounded to f32 first. A change too large for bfloat16 becomes infinite, and NaN stays NaN:
// such an update is refused.
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
  std::size_t most_bytes(std::size_t numbers) const override { return 2 * numbers; }

  template <class T>
  void write(std::span<const T> changes, Stream& /*stream*/, std::string& bytes,
             Vector<T>& /*handed_on*/) const {
    for (const T change : changes) {
      const std::uint16_t bits = to_bf16(static_cast<float>(change));
      bytes += static_cast<char>(static_cast<unsigned char>(bits));
      bytes += static_cast<char>(static_cast<unsigned char>(bits >> 8U));
    }
  }

  template <class T>
  Result<void> read(std::string_view& bytes, const HandedOn<T>& /*handed_on*/, std::span<T> changes) const {
    MFL_TRY(const std::string_view mine, take_bytes(bytes, 2 * changes.size()));
    for (std::size_t i = 0; i < changes.size(); ++i) {
      const auto low = static_cast<unsigned char>(mine[2 * i]),
                 high = static_cast<unsigned char>(mine[2 * i + 1]);
      changes[i] = static_cast<T>(from_bf16(static_cast<std::uint16_t>(low | high << 8U)));
    }
    return {};
  }
};

}  // namespace

std::unique_ptr<const Codec> make_bf16(std::string spec) { return std::make_unique<Bf16>(std::move(spec)); }

}  // namespace mfl
