// Dense rows in memory that belongs to a caller, an array of NumPy for example: nothing is copied, and
// nothing is written.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace mfl {

// The owner of the numbers keeps them where they are, unchanged, as long as this value or a copy of it is in
// use. Safe to share.
template <class X>
struct BorrowedRows {
  const std::byte* first = nullptr;          // element 0 of stored row 0; need not be aligned
  std::ptrdiff_t row_stride = 0;             // bytes from a stored row to the next
  std::ptrdiff_t column_stride = sizeof(X);  // bytes from a column to the next
  std::size_t rows = 0, columns = 0;         // the size of this set
  // Row r is stored row order[r]; null: stored row r.
  std::shared_ptr<const std::vector<std::uint32_t>> order = nullptr;

  const std::byte* row(std::size_t r) const {
    return first + static_cast<std::ptrdiff_t>(order ? (*order)[r] : r) * row_stride;
  }
  X at(const std::byte* row, std::size_t column) const {
    X x;
    std::memcpy(&x, row + static_cast<std::ptrdiff_t>(column) * column_stride, sizeof x);
    return x;
  }
  // Whether rows first .. first + count follow each other without gaps, as an aligned X[count * columns].
  bool adjoin() const {
    return !order && column_stride == std::ptrdiff_t{sizeof(X)} &&
           row_stride == static_cast<std::ptrdiff_t>(columns * sizeof(X)) &&
           reinterpret_cast<std::uintptr_t>(first) % alignof(X) == 0;
  }
};

// The rows named, in the order named.
template <class X>
BorrowedRows<X> some_of(BorrowedRows<X> rows, std::vector<std::uint32_t> places) {
  if (rows.order)
    for (std::uint32_t& place : places) place = (*rows.order)[place];
  rows.rows = places.size();
  rows.order = std::make_shared<const std::vector<std::uint32_t>>(std::move(places));
  return rows;
}

// The numbers of these rows one after the other: to[i * width + j] = convert(number, j) for column j of row
// rows[i], where BorrowedRows::row() gives the rows. Reads memory in its order: column by column where that
// is how it is stored.
template <class X, class To, class Convert>
void convert_rows(const BorrowedRows<X>& from, std::span<const std::byte* const> rows, To* to,
                  std::size_t width, const Convert& convert) {
  if (from.column_stride == std::ptrdiff_t{sizeof(X)}) {
    for (std::size_t i = 0; i < rows.size(); ++i)
      for (std::size_t j = 0; j < from.columns; ++j) {
        X x;
        std::memcpy(&x, rows[i] + j * sizeof(X), sizeof x);
        to[i * width + j] = convert(x, j);
      }
  } else {
    for (std::size_t j = 0; j < from.columns; ++j)
      for (std::size_t i = 0; i < rows.size(); ++i) to[i * width + j] = convert(from.at(rows[i], j), j);
  }
}

// All rows in blocks of at most `most`: use(number of the first row, numbers). The numbers are valid during
// the call.
template <class X, class Use>
void for_each_block(const BorrowedRows<X>& from, std::size_t most, const Use& use) {
  std::vector<X> numbers;
  std::vector<const std::byte*> rows;
  for (std::size_t at = 0; at < from.rows; at += most) {
    const std::size_t count = std::min(most, from.rows - at);
    if (from.adjoin()) {
      use(at, std::span(reinterpret_cast<const X*>(from.row(at)), count * from.columns));
      continue;
    }
    numbers.resize(count * from.columns);
    rows.resize(count);
    for (std::size_t i = 0; i < count; ++i) rows[i] = from.row(at + i);
    convert_rows(from, std::span<const std::byte* const>(rows), numbers.data(), from.columns,
                 [](X x, std::size_t) { return x; });
    use(at, std::span<const X>(numbers));
  }
}

}  // namespace mfl
