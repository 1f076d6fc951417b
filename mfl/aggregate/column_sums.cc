#include "mfl/aggregate/column_sums.h"

#include <fmt/core.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace mfl {
namespace {

static_assert(std::endian::native == std::endian::little);

// The squares of `values` as sums of two numbers each: x, then x^2 rounded, then what rounding lost.
void fill_moments(std::span<const double> values, std::span<double> out) {
  const std::size_t n = values.size();
  for (std::size_t j = 0; j < n; ++j) {
    const double x = values[j], square = x * x;
    out[j] = x;
    out[n + j] = square;
    out[2 * n + j] = std::fma(x, x, -square);
  }
}

tl::unexpected<Error> too_large(std::size_t column) {
  return fail(ErrorCode::kBadData, fmt::format("feature {}: a value overflows when squared", column + 1),
              "change its unit, or leave the column out");
}

// A mean as two numbers whose sum is right to about 106 bits.
struct LongMean {
  std::vector<double> high, low;
};

LongMean long_mean(ExactMean sum) {
  LongMean out{std::vector<double>(sum.size()), std::vector<double>(sum.size())};
  const std::uint64_t n = sum.total_weight();
  sum.mean(out.high);
  std::vector<double> minus = out.high;
  for (double& x : minus) x = -x;
  sum.add(minus, n);  // the total weight is now 2 n
  sum.mean(out.low);
  for (double& x : out.low) x *= 2;
  return out;
}

template <class X>
double number_at(const DenseRows<X>& rows, std::size_t r, std::size_t j, std::size_t columns) {
  return static_cast<double>(rows.values[r * columns + j]);
}

template <class X>
double number_at(const BorrowedRows<X>& rows, std::size_t r, std::size_t j, std::size_t /*columns*/) {
  return static_cast<double>(rows.at(rows.row(r), j));
}

}  // namespace

Result<void> ColumnSums::add(const Dataset& rows, std::span<const double> class_numbers) {
  std::vector<double> values, moments;
  std::vector<std::uint32_t> places;
  std::vector<double> dense(columns_);
  const auto add_sparse = [&](const auto& features, std::size_t r) -> Result<void> {
    const std::size_t first = features.starts[r], count = features.starts[r + 1] - first;
    values.resize(count);
    moments.resize(3 * count);
    places.resize(3 * count);
    for (std::size_t i = 0; i < count; ++i) {
      values[i] = rows.scale * static_cast<double>(features.values[first + i]);
      for (std::size_t part = 0; part < 3; ++part)
        places[part * count + i] = static_cast<std::uint32_t>(part * columns_) + features.columns[first + i];
    }
    fill_moments(values, moments);
    if (const auto bad = moments_.add_sparse(places, moments, 1)) return too_large(*bad % columns_);
    return {};
  };
  const auto add_dense = [&](const auto& features, std::size_t r) -> Result<void> {
    for (std::size_t j = 0; j < columns_; ++j) dense[j] = rows.scale * number_at(features, r, j, columns_);
    moments.resize(3 * columns_);
    fill_moments(dense, moments);
    if (const auto bad = moments_.add(moments, 1)) return too_large(*bad % columns_);
    return {};
  };
  const auto added = std::visit(
      [&](const auto& features) -> Result<void> {
        for (std::size_t r = 0; r < rows.rows; ++r) {
          if constexpr (requires { features.starts; })
            MFL_CHECK(add_sparse(features, r));
          else
            MFL_CHECK(add_dense(features, r));
        }
        return {};
      },
      rows.features);
  if (!added) return added;
  if (!class_counts_.empty())
    for (const double number : class_numbers) ++class_counts_[static_cast<std::size_t>(number)];
  return {};
}

std::string ColumnSums::pack() const {
  std::vector<std::uint32_t> buffer;
  const auto words = moments_.pack(0, moments_.size(), buffer);
  std::string out;
  const auto append = [&](const void* from, std::size_t bytes) {
    out.append(static_cast<const char*>(from), bytes);
  };
  const std::uint64_t rows = this->rows();
  append(&rows, sizeof rows);
  append(class_counts_.data(), class_counts_.size() * sizeof(std::uint64_t));
  append(words.data(), words.size_bytes());
  return out;
}

Result<void> ColumnSums::merge_packed(std::string_view bytes) {
  const std::size_t header = (1 + class_counts_.size()) * sizeof(std::uint64_t);
  const auto refuse = [] { return fail(ErrorCode::kBadData, "sums of columns of another shape"); };
  if (bytes.size() <= header || (bytes.size() - header) % sizeof(std::uint32_t) != 0) return refuse();
  std::vector<std::uint64_t> numbers(1 + class_counts_.size());
  std::memcpy(numbers.data(), bytes.data(), header);
  std::vector<std::uint32_t> words((bytes.size() - header) / sizeof(std::uint32_t));
  std::memcpy(words.data(), bytes.data() + header, bytes.size() - header);
  std::uint64_t counted = 0;
  for (std::size_t k = 0; k < class_counts_.size(); ++k) {
    if (numbers[k + 1] > numbers[0] - counted) return refuse();
    counted += numbers[k + 1];
  }
  const bool all_counted = class_counts_.empty() || counted == numbers[0];
  if (numbers[0] == 0 || numbers[0] > ExactMean::kMaxWeight || !all_counted) return refuse();
  try {
    moments_.merge_packed(words, numbers[0]);
  } catch (const std::invalid_argument&) {
    return refuse();
  }
  for (std::size_t k = 0; k < class_counts_.size(); ++k) class_counts_[k] += numbers[k + 1];
  return {};
}

std::uint64_t ColumnSums::most_packed_bytes(std::uint64_t columns, std::uint64_t classes) {
  constexpr std::uint64_t kPlanesPerColumn = 71, kHeader = 64;
  return kHeader + classes * sizeof(std::uint64_t) + 3 * columns * kPlanesPerColumn * sizeof(std::uint32_t);
}

ColumnMoments ColumnSums::moments() const {
  ColumnMoments out;
  const LongMean mean = long_mean(moments_);
  for (std::size_t j = 0; j < columns_; ++j) {
    const double high = mean.high[j], low = mean.low[j];
    const double square = high * high, lost = std::fma(high, high, -square);
    double variance = (mean.high[columns_ + j] - square) + (mean.low[columns_ + j] - lost);
    variance += (mean.high[2 * columns_ + j] + mean.low[2 * columns_ + j]) - 2 * high * low;
    out.means.push_back(high);
    out.deviations.push_back(variance > 0 ? std::sqrt(variance) : 0);
  }
  return out;
}

Result<void> ColumnSums::check() const {
  constexpr double kSlack = 0x1p-40, kUnderflow = 1e-300;
  std::vector<double> means(moments_.size());
  ExactMean(moments_).mean(means);
  for (std::size_t j = 0; j < columns_; ++j) {
    const double mean = means[j], square = means[columns_ + j], lost = means[2 * columns_ + j];
    if (std::isfinite(mean) && std::isfinite(square) && square >= 0 &&
        mean * mean <= square * (1 + kSlack) + kUnderflow && std::abs(lost) <= kSlack * square + kUnderflow)
      continue;
    return fail(ErrorCode::kBadData,
                fmt::format("no numbers have the sums of column {}: mean {:.6g}, mean square {:.6g}", j + 1,
                            mean, square));
  }
  return {};
}

std::vector<std::size_t> ColumnSums::measure(Preprocessing& preprocessing) const {
  std::vector<std::size_t> constant;
  if (preprocessing.standardise == Standardise::kNone) return constant;
  ColumnMoments found = moments();
  for (std::size_t j = 0; j < columns_; ++j) {
    if (found.deviations[j] != 0) continue;
    constant.push_back(j);
    found.deviations[j] = 1;
  }
  preprocessing.means.clear();
  if (preprocessing.standardise == Standardise::kFull) preprocessing.means = std::move(found.means);
  preprocessing.deviations = std::move(found.deviations);
  return constant;
}

Result<std::vector<double>> ColumnSums::balanced_weights() const {
  std::vector<double> out;
  for (const std::uint64_t count : class_counts_) {
    if (count == 0)
      return fail(ErrorCode::kBadData, "a class has no training samples, so classes cannot count alike",
                  "leave class_weight out, or add samples of every class");
    out.push_back(static_cast<double>(rows()) /
                  (static_cast<double>(class_counts_.size()) * static_cast<double>(count)));
  }
  return out;
}

}  // namespace mfl
