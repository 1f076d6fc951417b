#include "mfl/capi/arrays.h"

#include <fmt/core.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

namespace mfl::capi {
namespace {

tl::unexpected<Error> wrong(std::string_view name, const std::string& what, const char* hint) {
  return fail(ErrorCode::kBadConfig, fmt::format("{}: {}", name, what), hint);
}

tl::unexpected<Error> not_finite(std::string_view name, std::size_t row, std::size_t column, double value) {
  return fail(ErrorCode::kBadData,
              fmt::format("{}: row {}, column {} (from 0) is not finite: {}", name, row, column, value),
              "every number must be finite; fix or remove the row");
}

// Does use(X{}) with the element type.
template <class Use>
auto with_type(std::int32_t type, std::string_view name, const Use& use) -> decltype(use(float{})) {
  switch (type) {
    case MFL_U8: return use(std::uint8_t{});
    case MFL_I8: return use(std::int8_t{});
    case MFL_U16: return use(std::uint16_t{});
    case MFL_I16: return use(std::int16_t{});
    case MFL_U32: return use(std::uint32_t{});
    case MFL_I32: return use(std::int32_t{});
    case MFL_U64: return use(std::uint64_t{});
    case MFL_I64: return use(std::int64_t{});
    case MFL_F32: return use(float{});
    case MFL_F64: return use(double{});
    default: return wrong(name, fmt::format("{} is no element type", type), "see mfl.h");
  }
}

template <class X>
X element(const void* base, std::ptrdiff_t bytes) {
  X x;
  std::memcpy(&x, static_cast<const std::byte*>(base) + bytes, sizeof x);
  return x;
}

template <class X>
X element(const mfl_array& array, std::size_t row, std::size_t column) {
  return element<X>(array.data, static_cast<std::ptrdiff_t>(row) * array.row_stride +
                                    static_cast<std::ptrdiff_t>(column) * array.column_stride);
}

// That dense elements can be reached at all.
Result<void> check_shape(const mfl_array& array, std::string_view name) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
  if (array.data == nullptr && array.row_starts == nullptr)
    return wrong(name, "its data is NULL", "see mfl.h");
  if (array.rows == 0 || array.columns == 0)
    return fail(ErrorCode::kBadData,
                fmt::format("{}: empty: {} rows and {} columns", name, array.rows, array.columns),
                "give at least one sample of one feature");
  if (array.rows > kMost || array.columns > kMost)
    return fail(ErrorCode::kBadData,
                fmt::format("{}: {} rows and {} columns; at most 4294967295 of each", name, array.rows,
                            array.columns),
                "use a part of it");
  return {};
}

template <class X>
Result<void> check_finite(const BorrowedRows<X>& rows, std::string_view name) {
  if constexpr (std::is_floating_point_v<X>) {
    constexpr std::size_t kBlock = 256;
    Result<void> found = {};
    for_each_block(rows, kBlock, [&](std::size_t first, std::span<const X> numbers) {
      // A product with zero is not a number if one of them is not finite.
      X zero = 0;
      for (const X x : numbers) zero += x * 0;
      if (zero == 0 || !found) return;
      for (std::size_t i = 0; i < numbers.size() && found; ++i)
        if (!std::isfinite(numbers[i]))
          found =
              not_finite(name, first + i / rows.columns, i % rows.columns, static_cast<double>(numbers[i]));
    });
    return found;
  }
  return {};
}

template <class X>
Result<Features> dense_features(const mfl_array& array, std::string_view name) {
  if constexpr (std::is_floating_point_v<X> || std::is_same_v<X, std::uint8_t>) {
    const BorrowedRows<X> rows{.first = static_cast<const std::byte*>(array.data),
                               .row_stride = static_cast<std::ptrdiff_t>(array.row_stride),
                               .column_stride = static_cast<std::ptrdiff_t>(array.column_stride),
                               .rows = array.rows,
                               .columns = array.columns};
    MFL_CHECK(check_finite(rows, name));
    return rows;
  } else {
    DenseRows<double> out;
    out.values.reserve(array.rows * array.columns);
    for (std::size_t r = 0; r < array.rows; ++r)
      for (std::size_t c = 0; c < array.columns; ++c)
        out.values.push_back(static_cast<double>(element<X>(array, r, c)));
    return out;
  }
}

// Element i of an array of indices.
template <class I>
std::int64_t index_at(const void* indices, std::int64_t i) {
  return element<I>(indices, static_cast<std::ptrdiff_t>(i) * std::ptrdiff_t{sizeof(I)});
}

template <class Stored, class I>
Result<Features> sparse_with(const mfl_array& array, std::string_view name) {
  using X = std::conditional_t<std::is_same_v<Stored, float>, float, double>;
  SparseRows<X> out;
  out.starts.push_back(0);
  for (std::size_t r = 0; r < array.rows; ++r) {
    const std::int64_t first = index_at<I>(array.row_starts, static_cast<std::int64_t>(r));
    const std::int64_t end = index_at<I>(array.row_starts, static_cast<std::int64_t>(r) + 1);
    if (first < 0 || end < first)
      return wrong(name, fmt::format("row_starts do not ascend at row {}", r), "see mfl.h");
    if (end > first && array.data == nullptr) return wrong(name, "its data is NULL", "see mfl.h");
    for (std::int64_t i = first; i < end; ++i) {
      const std::int64_t column = index_at<I>(array.column_indices, i);
      if (column < 0 || static_cast<std::uint64_t>(column) >= array.columns)
        return wrong(name, fmt::format("row {} has column {}, and there are {}", r, column, array.columns),
                     "see mfl.h");
      if (i > first && column <= out.columns.back())
        return wrong(name, fmt::format("the columns of row {} do not ascend", r),
                     "sort them and add up what is repeated: sum_duplicates() of SciPy");
      const auto x = static_cast<X>(
          element<Stored>(array.data, static_cast<std::ptrdiff_t>(i) * std::ptrdiff_t{sizeof(Stored)}));
      if (!std::isfinite(x))
        return not_finite(name, r, static_cast<std::size_t>(column), static_cast<double>(x));
      out.columns.push_back(static_cast<std::uint32_t>(column));
      out.values.push_back(x);
    }
    out.starts.push_back(out.values.size());
  }
  return out;
}

template <class Stored>
Result<Features> sparse_features(const mfl_array& array, std::string_view name) {
  if (array.column_indices == nullptr) return wrong(name, "row_starts without column_indices", "see mfl.h");
  if (array.index_type == MFL_I32) return sparse_with<Stored, std::int32_t>(array, name);
  if (array.index_type == MFL_I64) return sparse_with<Stored, std::int64_t>(array, name);
  return wrong(name, fmt::format("index_type is {}", array.index_type), "use MFL_I32 or MFL_I64");
}

}  // namespace

Result<Dataset> rows_of(const mfl_array& array, std::string_view name) {
  MFL_CHECK(check_shape(array, name));
  Dataset out{.rows = array.rows, .columns = array.columns, .scale = 1, .features = {}, .labels = {}};
  MFL_TRY(out.features, with_type(array.type, name, [&]<class X>(X) -> Result<Features> {
            return array.row_starts == nullptr ? dense_features<X>(array, name)
                                               : sparse_features<X>(array, name);
          }));
  if (array.row_starts == nullptr && array.type == MFL_U8) out.scale = 1.0 / 255;
  return out;
}

Result<std::vector<double>> labels_of(const mfl_array& array, std::size_t rows, std::string_view name) {
  constexpr double kLargestWhole = 0x1p53;
  MFL_CHECK(check_shape(array, name));
  if (array.row_starts != nullptr || array.columns != 1)
    return wrong(name, "labels are a dense array of one column", "see mfl.h");
  if (array.rows != rows)
    return fail(ErrorCode::kBadData, fmt::format("{}: {} labels for {} rows", name, array.rows, rows),
                "x and y must come from the same set");
  return with_type(array.type, name, [&]<class X>(X) -> Result<std::vector<double>> {
    std::vector<double> labels;
    labels.reserve(rows);
    for (std::size_t r = 0; r < rows; ++r) {
      const X stored = element<X>(array, r, 0);
      const auto label = static_cast<double>(stored);
      if (!std::isfinite(label) || (std::numeric_limits<X>::is_integer && std::abs(label) > kLargestWhole))
        return fail(ErrorCode::kBadData,
                    fmt::format("{}: row {} (from 0): {} is no usable label", name, r, stored),
                    "labels must be finite, whole ones at most 2^53 in size");
      labels.push_back(label);
    }
    return labels;
  });
}

}  // namespace mfl::capi
