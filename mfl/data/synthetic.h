// A set that behaves like MNIST under even-odd: bytes, ten classes, most pixels zero, learnable by a linear
// model to between 80 and 95 %. Whole numbers only, so the same bytes everywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "mfl/base/result.h"
#include "mfl/data/dataset.h"
#include "mfl/data/rows.h"

namespace mfl {

// Makes rows on demand: row r depends on (seed, columns, r) alone. Read-only once made, so safe to share.
class SyntheticRows {
 public:
  static constexpr unsigned kClasses = 10;

  SyntheticRows(std::size_t columns, std::uint64_t seed);

  std::size_t columns() const { return columns_; }
  // Writes row `row` (columns() bytes) and returns its class, 0..9.
  unsigned fill(std::uint64_t row, std::span<std::uint8_t> pixels) const;
  // The class alone.
  unsigned label(std::uint64_t row) const;
  // The pattern of a class without noise, and 255 for each column that is ever non-zero, else 0: columns()
  // bytes.
  void pattern(unsigned of_class, std::span<std::uint8_t> pixels) const;
  void canvas(std::span<std::uint8_t> pixels) const;

 private:
  std::size_t columns_;
  std::uint64_t seed_;
  std::vector<std::uint32_t> canvas_;     // the columns that are ever non-zero, ascending
  std::vector<std::uint8_t> prototypes_;  // class-major, kClasses x canvas
};

// Rows 0..rows-1, scale 1/255. kBadConfig if there are no rows or columns, or more than 16 GiB or 2^26
// columns.
Result<Dataset> make_synthetic(std::size_t rows, std::size_t columns, std::uint64_t seed);
// Makes the rows of this set on demand.
Result<std::unique_ptr<RowSource>> open_synthetic_rows(std::size_t rows, std::size_t columns,
                                                       std::uint64_t seed);

}  // namespace mfl
