#include "mfl/data/fleet.h"

#include <fmt/core.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>
#include <optional>

#include "mfl/base/digest.h"
#include "mfl/base/dirichlet.h"
#include "mfl/base/math.h"
#include "mfl/base/rng.h"
#include "mfl/data/text.h"

namespace mfl {
namespace {

constexpr std::string_view kFleetName = "fleet";
constexpr std::uint32_t kMostSamples = std::uint32_t{1} << 16;
constexpr std::size_t kMostNumbers = std::size_t{1} << 26;
constexpr std::uint64_t kTestNode = std::uint64_t{1} << 63;
constexpr std::uint32_t kMostMedians = 100;

// Rounds of the stream: what the draws are for.
enum FleetDraw : std::uint64_t { kRows = 0, kCount = 1, kClassShares = 2 };

// As synthetic rows: a blend of two classes, at times more of the other.
constexpr std::uint64_t kFleetLeastShare = 96, kFleetShareSpan = 160;

struct RowDraw {
  unsigned own, other, share;
};

// Classes by shares that are drawn for a node.
class DrawnClasses {
 public:
  DrawnClasses(std::uint64_t seed, std::uint64_t node, double alpha) {
    Stream stream(seed, Purpose::kFleet, kClassShares, node);
    draw_log_gammas(stream, alpha, shares_);
    make_shares(shares_);
  }

  // From a number in [0, 1). Rounding may leave the end to nobody: it is for the largest share.
  unsigned at(double place) const {
    double sum = 0;
    for (std::size_t c = 0; c < shares_.size(); ++c) {
      sum += shares_[c];
      if (place < sum) return static_cast<unsigned>(c);
    }
    return static_cast<unsigned>(std::ranges::max_element(shares_) - shares_.begin());
  }

 private:
  std::array<double, SyntheticRows::kClasses> shares_{};
};

// From one number, by multiplication and shift: the odds are off by 2^-16 at most.
RowDraw row_of(std::uint64_t bits, const DrawnClasses* classes) {
  constexpr std::uint64_t kClasses = SyntheticRows::kClasses;
  const std::uint64_t low = bits & 0xffffffff;
  const std::uint64_t own =
      classes == nullptr ? low * kClasses >> 32U : classes->at(static_cast<double>(low) * 0x1p-32);
  const std::uint64_t step = 1 + ((bits >> 32U & 0xffff) * (kClasses - 1) >> 16U);
  const std::uint64_t share = kFleetLeastShare + ((bits >> 48U) * kFleetShareSpan >> 16U);
  return {static_cast<unsigned>(own), static_cast<unsigned>((own + step) % kClasses),
          static_cast<unsigned>(share)};
}

tl::unexpected<Error> bad_spec(const std::string& spec) {
  return fail(ErrorCode::kBadConfig, fmt::format("bad data spec {}", excerpt(spec)),
              "write fleet:SAMPLESxCOLUMNS or fleet:LEAST-MOSTxCOLUMNS, fleet:10x784 or fleet:5-50x784 for "
              "example; at most 65536 samples per node, samples x columns at most 67108864");
}

// "alpha=0.3" or "sigma=1".
Result<void> read_skew(const std::string& spec, std::string_view text, bool one_size, FleetShape& shape) {
  const auto refuse = [&](std::string_view hint) {
    return fail(ErrorCode::kBadConfig, fmt::format("bad data spec {}: {}", excerpt(spec), excerpt(text)),
                std::string(hint));
  };
  const std::size_t equals = std::min(text.find('='), text.size());
  const std::string_view name = text.substr(0, equals);
  const auto value = parse_number(text.substr(std::min(equals + 1, text.size())));
  if (name == "alpha") {
    if (!value || !(*value >= 1e-6 && *value <= 1e6) || shape.alpha != 0)
      return refuse("give alpha, the concentration of the classes of a node, once, in [1e-6, 1e6]");
    shape.alpha = *value;
    return {};
  }
  if (name != "sigma") return refuse("alpha=A and sigma=S may follow: fleet:50x784,alpha=0.3,sigma=1");
  if (!value || !(*value > 0 && *value <= 10) || shape.sigma != 0)
    return refuse("give sigma, the deviation of the logarithm of a size, once, in (0, 10]");
  if (!one_size) return refuse("with sigma give one number of samples, their median: fleet:50x784,sigma=1");
  shape.sigma = *value;
  shape.median = shape.most;
  shape.least = 1;
  shape.most = static_cast<std::uint32_t>(std::min(
      {std::size_t{kMostSamples}, kMostNumbers / shape.columns, std::size_t{shape.most} * kMostMedians}));
  return {};
}

}  // namespace

bool is_fleet(std::string_view spec) { return spec.substr(0, spec.find(':')) == kFleetName; }

Result<FleetShape> parse_fleet(const std::string& spec) {
  assert(is_fleet(spec));
  FleetShape shape;
  if (spec == kFleetName) return shape;
  std::string_view text = std::string_view(spec).substr(kFleetName.size() + 1);
  const std::size_t comma = std::min(text.find(','), text.size());
  std::string_view skews = text.substr(comma);
  text = text.substr(0, comma);
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
  shape.least = static_cast<std::uint32_t>(*least);
  shape.most = static_cast<std::uint32_t>(*most);
  shape.columns = *columns;
  const bool one_size = dash == std::string_view::npos;
  while (!skews.empty()) {
    const std::size_t end = std::min(skews.find(',', 1), skews.size());
    MFL_CHECK(read_skew(spec, skews.substr(1, end - 1), one_size, shape));
    skews.remove_prefix(end);
  }
  return shape;
}

FleetRows::FleetRows(const FleetShape& shape, std::uint64_t seed)
    : shape_(shape), seed_(seed), patterns_(SyntheticRows::kClasses * shape.columns), canvas_(shape.columns) {
  const SyntheticRows source(shape.columns, seed);
  for (unsigned c = 0; c < SyntheticRows::kClasses; ++c)
    source.pattern(c, std::span(patterns_).subspan(c * shape.columns, shape.columns));
  source.canvas(canvas_);
}

std::size_t FleetRows::samples(std::uint64_t node) const {
  if (shape_.sigma > 0) {
    const double x = Stream(seed_, Purpose::kFleet, kCount, node).normal();
    const double size = std::floor(shape_.median * portable_exp(shape_.sigma * x) + 0.5);
    return static_cast<std::size_t>(
        std::clamp(size, static_cast<double>(shape_.least), static_cast<double>(shape_.most)));
  }
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
  std::optional<DrawnClasses> classes;
  if (shape_.alpha > 0 && node != kTestNode) classes.emplace(seed_, node, shape_.alpha);
  for (std::size_t r = 0; r < targets.size(); ++r) {
    const RowDraw row = row_of(stream.next(), classes ? &*classes : nullptr);
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
  Sha256 digest;
  if (shape_.alpha > 0) digest.update("alpha").update(shape_.alpha);
  if (shape_.sigma > 0) digest.update("sigma").update(shape_.sigma).update(std::uint64_t{shape_.median});
  return digest.update("mfl fleet 1")
      .update(std::uint64_t{shape_.least})
      .update(std::uint64_t{shape_.most})
      .update(std::uint64_t{shape_.columns})
      .update(seed_)
      .update(nodes)
      .finish_hex();
}

}  // namespace mfl
