// Changes in blocks of 1,024: the largest |change| / 127 as an f32 (the step), little-endian, then one signed
// byte q per number. q is floor(change / step + r) with r uniform in [0, 1): on average q step is the change.
// Every number takes a draw, so that a draw depends on the place of a number alone. A block with a change
// that is not finite, or with a step too large for f32, becomes NaN: such an update is refused.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "mfl/codec/built_in.h"

namespace mfl {
namespace {

constexpr std::size_t kBlock = 1'024;
constexpr double kSteps = 127;

template <class T>
float step_of(std::span<const T> changes) {
  double largest = 0;
  for (const T change : changes) {
    if (!std::isfinite(change)) return std::numeric_limits<float>::quiet_NaN();
    largest = std::max(largest, std::abs(static_cast<double>(change)));
  }
  return static_cast<float>(largest / kSteps);
}

std::int8_t steps(double change, float step, double draw) {
  if (!(step > 0)) return 0;
  return static_cast<std::int8_t>(std::clamp(std::floor(change / step + draw), -kSteps, kSteps));
}

void put_step(float step, std::string& bytes) {
  const auto bits = std::bit_cast<std::uint32_t>(step);
  for (unsigned shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(bits >> shift & 0xffU);
}

float get_step(std::string_view bytes) {
  std::uint32_t bits = 0;
  for (unsigned i = 0; i < 4; ++i) bits |= std::uint32_t{static_cast<unsigned char>(bytes[i])} << 8U * i;
  return std::bit_cast<float>(bits);
}

class Int8 final : public CodecOf<Int8> {
 public:
  using CodecOf::CodecOf;

  std::string_view encoding() const override { return "int8"; }
  std::size_t most_bytes(std::size_t numbers) const override {
    return numbers + sizeof(float) * ((numbers + kBlock - 1) / kBlock);
  }

  template <class T>
  void write(std::span<const T> changes, Stream& stream, std::string& bytes, Vector<T>& /*handed_on*/) const {
    for (std::size_t first = 0; first < changes.size(); first += kBlock) {
      const auto block = changes.subspan(first, std::min(kBlock, changes.size() - first));
      const float step = step_of(block);
      put_step(step, bytes);
      for (const T change : block)
        bytes += static_cast<char>(steps(static_cast<double>(change), step, stream.uniform()));
    }
  }

  template <class T>
  Result<void> read(std::string_view& bytes, const HandedOn<T>& /*handed_on*/, std::span<T> changes) const {
    MFL_TRY(std::string_view mine, take_bytes(bytes, most_bytes(changes.size())));
    for (std::size_t first = 0; first < changes.size(); first += kBlock) {
      const auto block = changes.subspan(first, std::min(kBlock, changes.size() - first));
      const double step = get_step(mine);
      mine.remove_prefix(sizeof(float));
      for (std::size_t i = 0; i < block.size(); ++i)
        block[i] = static_cast<T>(step * static_cast<std::int8_t>(static_cast<unsigned char>(mine[i])));
      mine.remove_prefix(block.size());
    }
    return {};
  }
};

}  // namespace

std::unique_ptr<const Codec> make_int8(std::string spec) { return std::make_unique<Int8>(std::move(spec)); }

}  // namespace mfl
