// Borrowed rows as a model sees them: what preprocessed() and then with_precision() would make of them, a few
// rows at a time and with the same bits, so that no second copy of them exists.
//
//   MFL_TRY(const PreparedRows rows,
//           PreparedRows::make(data, schema.preprocessing, constant_column, Precision::kF32));
//   rows.read(0, 256, block.data());
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "mfl/base/result.h"
#include "mfl/base/vectors.h"
#include "mfl/data/dataset.h"
#include "mfl/data/preprocessing.h"

namespace mfl {

// Refers to the memory that the rows are borrowed from. Immutable, so safe to share.
class PreparedRows {
 public:
  // Reads all rows once where anything is done to them. Errors as those of preprocessed() and
  // with_precision(). `data` is borrowed.
  static Result<PreparedRows> make(const Dataset& data, const Preprocessing& preprocessing,
                                   bool constant_column, Precision precision);

  std::size_t size() const { return rows_; }
  std::size_t columns() const { return columns_ + (constant_column_ ? 1 : 0); }
  double scale() const { return kind_ == Kind::kPlain ? scale_ : 1; }  // as in Dataset
  bool bytes() const {
    return kind_ == Kind::kPlain && std::holds_alternative<BorrowedRows<std::uint8_t>>(features_);
  }

  // Rows first .. first + count, or those named, as columns() numbers each. X is std::uint8_t for bytes();
  // else float, for rows of Precision::kF32, or double.
  template <class X>
  void read(std::size_t first, std::size_t count, X* to) const;
  // Row i is first + rows[i].
  template <class X>
  void read(std::size_t first, std::span<const std::uint32_t> rows, X* to) const;

  // The stored numbers from row `first` to the end where they need no preparation; else null.
  template <class X>
  const X* stored(std::size_t first) const;

  // Rows first .. first + count alone.
  PreparedRows part(std::size_t first, std::size_t count) const;

 private:
  enum class Kind { kPlain, kScaled, kStandardised };
  template <class X, class RowOf>
  void read_rows(std::size_t count, const RowOf& row_of, X* to) const;

  Features features_;  // borrowed
  std::size_t rows_ = 0, columns_ = 0;
  double scale_ = 1;
  Kind kind_ = Kind::kPlain;
  bool constant_column_ = false;
  Precision precision_ = Precision::kF32;
  std::shared_ptr<const std::vector<double>> means_, deviations_;  // for kStandardised: one per feature
};

}  // namespace mfl
