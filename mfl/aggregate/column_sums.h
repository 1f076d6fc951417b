// The sums over rows that means, deviations and class weights are made of, exact until their last rounding: nodes that sum their own
// rows and a server that merges the sums get the bits of one sum over all rows, in whatever order.
//
//   ColumnSums sums(data.columns, schema.classes.size());
//   MFL_CHECK(sums.add(data, class_numbers));
//   MFL_CHECK(total.merge_packed(sums.pack()));      // at the server
//   total.measure(schema.preprocessing);
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mfl/aggregate/exact_mean.h"
#include "mfl/base/result.h"
#include "mfl/data/dataset.h"
#include "mfl/data/preprocessing.h"

namespace mfl {

// Of the rows of one holder, or of all.
struct ColumnMoments {
  std::vector<double> means;
  std::vector<double> deviations;  // over n, not n - 1; 0: the column is constant
};

// Not thread-safe.
class ColumnSums {
 public:
  // `classes` is 0 where they are not counted.
  ColumnSums(std::size_t columns, std::size_t classes)
      : columns_(columns), moments_(3 * columns), class_counts_(classes) {}

  // `class_numbers`: one per row, from 0, or none where classes are not counted. kBadData for a feature whose square is too large.
  Result<void> add(const Dataset& rows, std::span<const double> class_numbers);

  // Sums as bytes, little-endian: u64 rows, u64 per class, and the words of ExactMean::pack().
  std::string pack() const;
  // Adds packed sums of as many columns and classes. Takes any bytes; kBadData for those of another shape.
  Result<void> merge_packed(std::string_view bytes);
  // Upper bound on the bytes of pack().
  static std::uint64_t most_packed_bytes(std::uint64_t columns, std::uint64_t classes);

  std::uint64_t rows() const { return moments_.total_weight(); }
  std::span<const std::uint64_t> class_counts() const { return class_counts_; }

  // Correct to the last bits even where a deviation is small beside its mean. rows() > 0.
  ColumnMoments moments() const;
  // kBadData, naming the column, for sums that no rows have: a mean that is not finite, a negative square, or (sum x)^2 beyond
  // n sum x^2. rows() > 0.
  Result<void> check() const;

  // Fills in what preprocessing.standardise asks for: the means and deviations of moments(). Returns the columns that are constant, whose deviation is given as 1. rows() > 0.
  std::vector<std::size_t> measure(Preprocessing& preprocessing) const;

  // n / (classes * n_c): every class counts as much in a sum of weighted losses. kBadData for a class without samples.
  Result<std::vector<double>> balanced_weights() const;

 private:
  std::size_t columns_;
  ExactMean moments_;  // x, and x^2 as the sum of a rounded square and its rounding error
  std::vector<std::uint64_t> class_counts_;
};

}  // namespace mfl
