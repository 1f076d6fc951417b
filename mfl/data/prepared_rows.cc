#include "mfl/data/prepared_rows.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <type_traits>
#include <utility>

namespace mfl {
namespace {

constexpr std::size_t kPreparedBlock = 256;

using RowPointers = std::span<const std::byte* const>;

// Does use(rows) with the borrowed rows that the features are.
template <class Use>
auto with_borrowed(const Features& features, const Use& use) {
  if (const auto* bytes = std::get_if<BorrowedRows<std::uint8_t>>(&features)) return use(*bytes);
  if (const auto* single = std::get_if<BorrowedRows<float>>(&features)) return use(*single);
  return use(std::get<BorrowedRows<double>>(features));
}

// Numbers of precision T, written as X.
template <class T, class X, class Stored, class Prepare>
void fill(const BorrowedRows<Stored>& from, RowPointers rows, std::size_t width, X* to,
          const Prepare& prepare) {
  convert_rows(from, rows, to, width, [&](Stored x, std::size_t column) {
    return static_cast<X>(static_cast<T>(prepare(x, column)));
  });
}

}  // namespace

Result<PreparedRows> PreparedRows::make(const Dataset& data, const Preprocessing& done, bool constant_column,
                                        Precision precision) {
  const bool changes = constant_column || done.standardise != Standardise::kNone;
  const bool narrows =
      precision == Precision::kF32 && std::holds_alternative<BorrowedRows<double>>(data.features);
  std::vector<std::uint32_t> places;
  for (std::size_t at = 0; (changes || narrows) && at < data.rows; at += kPreparedBlock) {
    places.resize(std::min(kPreparedBlock, data.rows - at));
    std::iota(places.begin(), places.end(), static_cast<std::uint32_t>(at));
    MFL_TRY(Dataset part, preprocessed(take_rows(data, places), done, constant_column));
    MFL_CHECK(with_precision(std::move(part), precision));
  }
  PreparedRows out;
  out.features_ = data.features;
  out.rows_ = data.rows;
  out.columns_ = data.columns;
  out.scale_ = data.scale;
  out.constant_column_ = constant_column;
  out.precision_ = precision;
  const bool bytes = std::holds_alternative<BorrowedRows<std::uint8_t>>(data.features);
  if (done.standardise != Standardise::kNone)
    out.kind_ = Kind::kStandardised;
  else if (constant_column && (bytes || data.scale != 1))
    out.kind_ = Kind::kScaled;
  if (out.kind_ == Kind::kStandardised) {
    out.means_ = std::make_shared<const std::vector<double>>(
        done.means.empty() ? std::vector<double>(data.columns, 0.0) : done.means);
    out.deviations_ = std::make_shared<const std::vector<double>>(
        done.deviations.empty() ? std::vector<double>(data.columns, 1.0) : done.deviations);
  }
  return out;
}

template <class X, class RowOf>
void PreparedRows::read_rows(std::size_t count, const RowOf& row_of, X* to) const {
  const std::size_t width = columns();
  const bool single = precision_ == Precision::kF32;
  std::array<const std::byte*, kPreparedBlock> pointers;
  with_borrowed(features_, [&](const auto& from) {
    const auto fill_block = [&](RowPointers rows, X* block, const auto& prepare) {
      if constexpr (std::is_same_v<X, std::uint8_t>)
        fill<X>(from, rows, width, block, prepare);
      else if (single)
        fill<float>(from, rows, width, block, prepare);
      else
        fill<double>(from, rows, width, block, prepare);
    };
    for (std::size_t at = 0; at < count; at += kPreparedBlock) {
      const std::size_t here = std::min(kPreparedBlock, count - at);
      for (std::size_t i = 0; i < here; ++i) pointers[i] = from.row(row_of(at + i));
      const RowPointers rows(pointers.data(), here);
      X* const block = to + at * width;
      switch (kind_) {
        case Kind::kPlain: fill_block(rows, block, [](auto x, std::size_t) { return x; }); break;
        case Kind::kScaled:
          fill_block(rows, block,
                     [scale = scale_](auto x, std::size_t) { return scale * static_cast<double>(x); });
          break;
        case Kind::kStandardised:
          fill_block(rows, block,
                     [scale = scale_, mean = means_->data(), deviation = deviations_->data()](auto x,
                                                                                              std::size_t j) {
                       return (scale * static_cast<double>(x) - mean[j]) / deviation[j];
                     });
      }
      if (constant_column_)
        for (std::size_t i = 0; i < here; ++i) block[i * width + columns_] = X{1};
    }
  });
}

template <class X>
void PreparedRows::read(std::size_t first, std::size_t count, X* to) const {
  read_rows(
      count, [&](std::size_t i) { return first + i; }, to);
}

template <class X>
void PreparedRows::read(std::size_t first, std::span<const std::uint32_t> rows, X* to) const {
  read_rows(
      rows.size(), [&](std::size_t i) { return first + rows[i]; }, to);
}

template <class X>
const X* PreparedRows::stored(std::size_t first) const {
  const auto* same = std::get_if<BorrowedRows<X>>(&features_);
  const bool rounded = std::is_same_v<X, double> && precision_ == Precision::kF32;
  if (kind_ != Kind::kPlain || constant_column_ || rounded || same == nullptr || !same->adjoin())
    return nullptr;
  return reinterpret_cast<const X*>(same->row(first));
}

PreparedRows PreparedRows::part(std::size_t first, std::size_t count) const {
  std::vector<std::uint32_t> places(count);
  std::iota(places.begin(), places.end(), static_cast<std::uint32_t>(first));
  PreparedRows out = *this;
  out.features_ =
      with_borrowed(features_, [&](const auto& rows) -> Features { return some_of(rows, places); });
  out.rows_ = count;
  return out;
}

#define MFL_INSTANTIATE(X)                                                                 \
  template void PreparedRows::read(std::size_t, std::size_t, X*) const;                    \
  template void PreparedRows::read(std::size_t, std::span<const std::uint32_t>, X*) const; \
  template const X* PreparedRows::stored(std::size_t) const;
MFL_INSTANTIATE(std::uint8_t)
MFL_INSTANTIATE(float)
MFL_INSTANTIATE(double)
#undef MFL_INSTANTIATE

}  // namespace mfl
