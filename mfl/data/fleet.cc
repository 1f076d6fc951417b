#include "mfl/data/fleet.h"

#include <fmt/core.h>

#include <cassert>
#include <numeric>
#include <optional>

#include "mfl/base/digest.h"
#include "mfl/base/rng.h"
#include "mfl/data/text.h"

namespace mfl {
namespace {

constexpr std::string_view kName = "fleet";
constexpr std::uint32_t kMostSamples = std::uint32_t{1} << 16;
constexpr std::size_t kMostNumbers = std::size_t{1} << 26;
constexpr std::uint64_t kTestNode = std::uint64_t{1} << 63;

// Rounds of the stream: what the draws are for.
enum Draw : std::uint64_t { kRows = 0, kCount = 1 };

// As synthetic rows: a blend of two classes, at times more of the other.
constexpr std::uint64_t kLeastShare = 96, kShareSpan = 160;

struct RowDraw {
  unsigned own, other, share;
};

// From one number, by multiplication and shift: the odds are off by 2^-16 at most.
RowDraw row_of(std::uint64_t bits) {
  constexpr std::uint64_t kClasses = SyntheticRows::kClasses;
  const std::uint64_t own = (bits & 0xffffffff) * kClasses >> 32U;
  const std::uint64_t step = 1 + ((bits >> 32U & 0xffff) * (kClasses - 1) >> 16U);
  const std::uint64_t share = kLeastShare + ((bits >> 48U) * kShareSpan >> 16U);
  return {static_cast<unsigned>(own), static_cast<unsigned>((own + step) % kClasses),
          static_cast<unsigned>(share)};
}

tl::unexpected<Error> bad_spec(const std::string& spec) {
  return fail(ErrorCode::kBadConfig, fmt::format("bad data spec {}", excerpt(spec)),
              "write fleet:SAMPLESxCOLUMNS or fleet:LEAST-MOSTxCOLUMNS, fleet:10x784 or fleet:5-50x784 for "
              "example; at most 65536 samples per node, samples x columns at most 67108864");
}

}  // namespace

bool is_fleet(std::string_view spec) { return spec.substr(0, spec.find(':')) == kName; }

Result<FleetShape> parse_fleet(const std::string& spec) {
  assert(is_fleet(spec));
  FleetShape shape;
  if (spec == kName) return shape;
  const std::string_view text = std::string_view(spec).substr(kName.size() + 1);
  const std::size_t cross = text.find('x');
  if (cross == std::string_view::npos) return bad_spec(spec);
  const std::string_view samples = text.substr(0, cross);
  const std::size_t dash = samples.find('-');
  const auto least = parse_count(samples.substr(0, dash));
  const auto most = dash == std::string_view::npos ? least : parse_count(samples.substr(dash + 1));
  const auto columns = parse_count(text.substr(cross + 1));
  if (!least || !most || !columns || *least == 0 || *least > *most || *most > kMostSamples || *columns == 0 ||
      *columns > kMostNumbers / *most)
    return bad_spec(spec);
  return FleetShape{static_cast<std::uint32_t>(*least), static_cast<std::uint32_t>(*most), *columns};
}

FleetRows::FleetRows(const FleetShape& shape, std::uint64_t seed)
    : shape_(shape), seed_(seed), patterns_(SyntheticRows::kClasses * shape.columns), canvas_(shape.columns) {
  const SyntheticRows source(shape.columns, seed);
  for (unsigned c = 0; c < SyntheticRows::kClasses; ++c)
    source.pattern(c, std::span(patterns_).subspan(c * shape.columns, shape.columns));
  source.canvas(canvas_);
}

std::size_t FleetRows::samples(std::uint64_t node) const {
  if (shape_.least == shape_.most) return shape_.least;
  return shape_.least +
         Stream(seed_, Purpose::kFleet, kCount, node).below(shape_.most - shape_.least + std::uint64_t{1});
}

template <class Y>
void FleetRows::fill(std::uint64_t node, std::span<std::uint8_t> pixels, std::span<Y> targets,
                     const ClassTargets<Y>& target_of_class, const KernelSet& kernels) const {
  const std::size_t columns = shape_.columns;
  assert(pixels.size() == targets.size() * columns);
  Stream stream(seed_, Purpose::kFleet, kRows, node);
  kernels.bytes.noise(stream.next(), pixels.size(), pixels.data());
  for (std::size_t r = 0; r < targets.size(); ++r) {
    const RowDraw row = row_of(stream.next());
    targets[r] = target_of_class[row.own];
    kernels.bytes.blend_into_noise(columns, patterns_.data() + row.own * columns,
                                   patterns_.data() + row.other * columns, row.share, canvas_.data(),
                                   pixels.data() + r * columns);
  }
}

template void FleetRows::fill(std::uint64_t, std::span<std::uint8_t>, std::span<float>,
                              const ClassTargets<float>&, const KernelSet&) const;
template void FleetRows::fill(std::uint64_t, std::span<std::uint8_t>, std::span<double>,
                              const ClassTargets<double>&, const KernelSet&) const;

Dataset FleetRows::test_set(std::size_t rows) const {
  Dataset data{.rows = rows, .columns = shape_.columns, .scale = kScale, .features = {}, .labels = {}};
  DenseRows<std::uint8_t> pixels;
  pixels.values.resize(rows * shape_.columns);
  data.labels.resize(rows);
  ClassTargets<double> classes;
  std::iota(classes.begin(), classes.end(), 0.0);
  fill<double>(kTestNode, pixels.values, data.labels, classes);
  data.features = std::move(pixels);
  return data;
}

std::string FleetRows::digest(std::uint64_t nodes) const {
  return Sha256{}
      .update("mfl fleet 1")
      .update(std::uint64_t{shape_.least})
      .update(std::uint64_t{shape_.most})
      .update(std::uint64_t{shape_.columns})
      .update(seed_)
      .update(nodes)
      .finish_hex();
}

}  // namespace mfl
