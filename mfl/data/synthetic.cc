#include "mfl/data/synthetic.h"

#include <fmt/core.h>

#include <algorithm>
#include <cassert>

#include "mfl/base/rng.h"

namespace mfl {
namespace {

constexpr std::size_t kMostSyntheticBytes = std::size_t{16} << 30;
constexpr std::size_t kMostSyntheticColumns = std::size_t{1} << 26;

// Rounds of the stream: what the draws are for.
enum SyntheticDraw : std::uint64_t { kRow = 0, kCanvas = 1, kPrototype = 2, kPair = 3 };

// All odds are of 256. Classes 2k and 2k + 1 look alike but for some pixels, the fewer the smaller k: easy
// pairs are learned in a few steps, hard ones slowly. A row is a blend of its own class and another, at times
// more of the other: no model gets all of them right.
constexpr unsigned kInkOdds = 44;
constexpr unsigned kLeastDifference = 13;
constexpr unsigned kLeastShare = 96;         // the least that a row has of its own class ...
constexpr unsigned kShareSpan = 160;         // ... and how much more it may have
constexpr unsigned kCanvasSpeckleOdds = 12;  // canvas pixels outside the prototypes that are lit

std::uint8_t ink(std::uint64_t bits) {
  return (bits & 255) < kInkOdds ? static_cast<std::uint8_t>(192 + (bits >> 8) % 64) : std::uint8_t{0};
}

// The sum of the four low bytes of `bits`, centred: about normal, standard deviation 148.
int bell(std::uint64_t bits) {
  int sum = -510;
  for (int i = 0; i < 4; ++i) sum += static_cast<int>(bits >> (8 * i) & 255);
  return sum;
}

}  // namespace

SyntheticRows::SyntheticRows(std::size_t columns, std::uint64_t seed) : columns_(columns), seed_(seed) {
  canvas_ = permutation(columns, Stream(seed, Purpose::kSynthetic, kCanvas));
  canvas_.resize((columns * 4 + 4) / 5);
  std::sort(canvas_.begin(), canvas_.end());
  prototypes_.resize(kClasses * canvas_.size());
  for (unsigned c = 0; c < kClasses; ++c) {
    Stream pair(seed, Purpose::kSynthetic, kPair, c / 2);
    Stream own(seed, Purpose::kSynthetic, kPrototype, c);
    for (std::size_t j = 0; j < canvas_.size(); ++j) {
      const std::uint64_t shared = pair.next();
      const std::uint64_t alone = own.next();
      const bool differs = (alone >> 32 & 255) < kLeastDifference * (1 + c / 2);
      prototypes_[c * canvas_.size() + j] = ink(differs ? alone : shared);
    }
  }
}

unsigned SyntheticRows::fill(std::uint64_t row, std::span<std::uint8_t> pixels) const {
  assert(pixels.size() == columns_);
  Stream stream(seed_, Purpose::kSynthetic, kRow, row);
  const auto own = static_cast<unsigned>(stream.below(kClasses));
  const auto other = (own + 1 + static_cast<unsigned>(stream.below(kClasses - 1))) % kClasses;
  const auto share = kLeastShare + static_cast<unsigned>(stream.below(kShareSpan));
  std::fill(pixels.begin(), pixels.end(), std::uint8_t{0});
  const std::uint8_t* const mine = prototypes_.data() + own * canvas_.size();
  const std::uint8_t* const theirs = prototypes_.data() + other * canvas_.size();
  for (std::size_t j = 0; j < canvas_.size(); ++j) {
    const std::uint64_t bits = stream.next();
    int value = static_cast<int>((share * mine[j] + (256 - share) * theirs[j]) >> 8);
    if (value > 0)
      value += bell(bits) / 3;
    else if ((bits >> 32 & 255) < kCanvasSpeckleOdds)
      value = static_cast<int>(bits >> 40 & 255);
    pixels[canvas_[j]] = static_cast<std::uint8_t>(std::clamp(value, 0, 255));
  }
  return own;
}

void SyntheticRows::pattern(unsigned of_class, std::span<std::uint8_t> pixels) const {
  assert(of_class < kClasses && pixels.size() == columns_);
  std::fill(pixels.begin(), pixels.end(), std::uint8_t{0});
  for (std::size_t j = 0; j < canvas_.size(); ++j)
    pixels[canvas_[j]] = prototypes_[of_class * canvas_.size() + j];
}

void SyntheticRows::canvas(std::span<std::uint8_t> pixels) const {
  assert(pixels.size() == columns_);
  std::fill(pixels.begin(), pixels.end(), std::uint8_t{0});
  for (const std::uint32_t column : canvas_) pixels[column] = 255;
}

unsigned SyntheticRows::label(std::uint64_t row) const {
  return static_cast<unsigned>(Stream(seed_, Purpose::kSynthetic, kRow, row).below(kClasses));
}

namespace {

class MadeRows final : public RowSource {
 public:
  MadeRows(std::size_t rows, SyntheticRows source, std::vector<double> labels)
      : RowSource({rows, source.columns(), 1.0 / 255, false}, std::move(labels),
                  origin_at({}, digit_classes())),
        source_(std::move(source)) {}
  Result<Features> read(std::span<const std::uint32_t> rows) const override {
    DenseRows<std::uint8_t> pixels;
    pixels.values.resize(rows.size() * shape().columns);
    for (std::size_t i = 0; i < rows.size(); ++i)
      source_.fill(rows[i], std::span(pixels.values).subspan(i * shape().columns, shape().columns));
    return pixels;
  }

 private:
  SyntheticRows source_;
};

}  // namespace

Result<std::unique_ptr<RowSource>> open_synthetic_rows(std::size_t rows, std::size_t columns,
                                                       std::uint64_t seed) {
  if (rows == 0 || columns == 0 || columns > kMostSyntheticColumns || rows > kMostSyntheticBytes / columns)
    return fail(ErrorCode::kBadConfig, fmt::format("synthetic set of {} rows and {} columns", rows, columns),
                "both must be at least 1, columns at most 67108864, rows x columns at most 16 GiB");
  SyntheticRows source(columns, seed);
  std::vector<double> labels(rows);
  for (std::size_t row = 0; row < rows; ++row) labels[row] = source.label(row);
  return std::make_unique<MadeRows>(rows, std::move(source), std::move(labels));
}

Result<Dataset> make_synthetic(std::size_t rows, std::size_t columns, std::uint64_t seed) {
  MFL_TRY(std::shared_ptr<RowSource> source, open_synthetic_rows(rows, columns, seed));
  return SomeRows(std::move(source)).take();
}

}  // namespace mfl
