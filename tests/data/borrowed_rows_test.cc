// Rows in the memory of a caller: what is made of them is what is made of a copy.
#include "mfl/data/borrowed_rows.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstring>
#include <numeric>

#include "mfl/data/prepared_rows.h"

namespace mfl {
namespace {

// Numbers with gaps before, between and after them, in some order of memory, at any address.
template <class X>
struct Array {
  std::vector<std::byte> memory;
  Dataset borrowed, own;
};

template <class X>
Array<X> some_array() {
  const auto rows = *rc::gen::inRange<std::size_t>(1, 600);
  const auto columns = *rc::gen::inRange<std::size_t>(1, 9);
  const bool by_columns = *rc::gen::arbitrary<bool>(), backwards = *rc::gen::arbitrary<bool>();
  const auto gap = *rc::gen::inRange<std::size_t>(0, 3), offset = *rc::gen::inRange<std::size_t>(0, 5);
  Array<X> out;
  out.memory.resize(offset + (rows + gap) * (columns + gap) * sizeof(X));
  const auto size = static_cast<std::ptrdiff_t>(sizeof(X));
  BorrowedRows<X> view{.first = out.memory.data() + offset,
                       .row_stride = by_columns ? size : static_cast<std::ptrdiff_t>(columns + gap) * size,
                       .column_stride = by_columns ? static_cast<std::ptrdiff_t>(rows + gap) * size : size,
                       .rows = rows,
                       .columns = columns};
  if (backwards) {
    view.first += static_cast<std::ptrdiff_t>(rows - 1) * view.row_stride;
    view.row_stride = -view.row_stride;
  }
  DenseRows<X> dense;
  std::vector<double> labels(rows);
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < columns; ++c) {
      const auto x = static_cast<X>(static_cast<double>((r * 31 + c * 17) % 200) / (sizeof(X) == 1 ? 1 : 7));
      dense.values.push_back(x);
      std::memcpy(out.memory.data() + (view.row(r) - out.memory.data()) +
                      static_cast<std::ptrdiff_t>(c) * view.column_stride,
                  &x, sizeof x);
      labels[r] = static_cast<double>(r % 3);
    }
  const double scale = *rc::gen::element(1.0, 1.0 / 255, 0.3);
  out.own = {.rows = rows, .columns = columns, .scale = scale, .features = dense, .labels = labels};
  out.borrowed = {.rows = rows, .columns = columns, .scale = scale, .features = view, .labels = labels};
  return out;
}

template <class X>
const std::vector<X>& values(const Dataset& data) {
  return std::get<DenseRows<X>>(data.features).values;
}

template <class X>
void expect_same_sets() {
  const Array<X> array = some_array<X>();
  const std::vector<std::byte> before = array.memory;
  RC_ASSERT(is_borrowed(array.borrowed));
  RC_ASSERT(data_digest(array.borrowed) == data_digest(array.own));
  RC_ASSERT(values<X>(owned(array.borrowed)) == values<X>(array.own));
  std::vector<std::uint32_t> order(array.own.rows);
  std::iota(order.rbegin(), order.rend(), 0U);
  std::swap(order.front(), order[order.size() / 2]);
  const Dataset turned = reordered(array.borrowed, order), turned_own = reordered(array.own, order);
  RC_ASSERT(data_digest(turned) == data_digest(turned_own));
  const std::vector<std::uint32_t> some = {order.back(), order.front(), order.back()};
  const Dataset taken = take_rows(turned, some);
  RC_ASSERT(is_borrowed(taken));
  RC_ASSERT(data_digest(taken) == data_digest(take_rows(turned_own, some)));
  RC_ASSERT(array.memory == before);
}

Preprocessing some_preprocessing(std::size_t columns) {
  Preprocessing out;
  out.standardise = *rc::gen::element(Standardise::kNone, Standardise::kScale, Standardise::kFull);
  if (out.standardise == Standardise::kNone) return out;
  for (std::size_t j = 0; j < columns; ++j) {
    out.deviations.push_back(0.7 + static_cast<double>(j));
    if (out.standardise == Standardise::kFull) out.means.push_back(static_cast<double>(j) / 3);
  }
  return out;
}

template <class X>
std::vector<X> read_prepared(const PreparedRows& rows) {
  if (const X* stored = rows.stored<X>(0)) return {stored, stored + rows.size() * rows.columns()};
  std::vector<X> out(rows.size() * rows.columns());
  rows.read(0, rows.size(), out.data());
  return out;
}

template <class X>
void expect_same_preparation() {
  const Array<X> array = some_array<X>();
  const Preprocessing done = some_preprocessing(array.own.columns);
  const bool constant_column = *rc::gen::arbitrary<bool>();
  for (const Precision precision : {Precision::kF32, Precision::kF64}) {
    const Dataset expected = *with_precision(*preprocessed(array.own, done, constant_column), precision);
    const PreparedRows got = *PreparedRows::make(array.borrowed, done, constant_column, precision);
    RC_ASSERT(got.size() == expected.rows && got.columns() == expected.columns &&
              got.scale() == expected.scale);
    if (got.bytes()) {
      RC_ASSERT(read_prepared<std::uint8_t>(got) == values<std::uint8_t>(expected));
    } else if (precision == Precision::kF32) {
      RC_ASSERT(read_prepared<float>(got) == values<float>(expected));
      const Dataset again = *with_precision(expected, Precision::kF64);
      RC_ASSERT(read_prepared<double>(got) == values<double>(again));
    } else {
      RC_ASSERT(read_prepared<double>(got) == values<double>(expected));
    }
    const std::size_t half = expected.rows / 2;
    if (!got.bytes() && half > 0) {
      std::vector<double> part = read_prepared<double>(got.part(half, 1)), row(got.columns());
      const std::uint32_t last = static_cast<std::uint32_t>(half) - 1;
      got.read(1, std::span(&last, 1), row.data());
      RC_ASSERT(part == row);
    }
  }
}

RC_GTEST_PROP(BorrowedRows, AreTheSetOfACopy, ()) {
  expect_same_sets<std::uint8_t>();
  expect_same_sets<float>();
  expect_same_sets<double>();
}

RC_GTEST_PROP(BorrowedRows, ArePreparedAsACopyIs, ()) {
  expect_same_preparation<std::uint8_t>();
  expect_same_preparation<float>();
  expect_same_preparation<double>();
}

TEST(BorrowedRows, HaveTheErrorsOfACopy) {
  const std::vector<double> numbers = {1, 2, 1e300};
  const BorrowedRows<double> rows{.first = reinterpret_cast<const std::byte*>(numbers.data()),
                                  .row_stride = sizeof(double),
                                  .rows = 3,
                                  .columns = 1};
  const Dataset data{.rows = 3, .columns = 1, .scale = 1, .features = rows, .labels = {0, 1, 0}};
  const auto narrow = PreparedRows::make(data, {}, false, Precision::kF32);
  ASSERT_FALSE(narrow);
  EXPECT_EQ(narrow.error().text(), with_precision(data, Precision::kF32).error().text());
  const Preprocessing tiny{.standardise = Standardise::kScale, .deviations = {1e-10}};
  const auto large = PreparedRows::make(data, tiny, false, Precision::kF64);
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().text(), preprocessed(data, tiny, false).error().text());
  EXPECT_THROW(visit_owned([](const auto&) {}, data.features), std::logic_error);
}

}  // namespace
}  // namespace mfl
