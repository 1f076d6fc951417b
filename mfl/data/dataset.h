// Samples as they came: bytes stay bytes, sparse stays sparse.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "mfl/base/digest.h"
#include "mfl/base/result.h"
#include "mfl/base/vectors.h"

namespace mfl {

// Row-major, rows x columns.
template <class X>
struct DenseRows {
  std::vector<X> values;
};

// Compressed rows: row r holds entries starts[r] .. starts[r+1]; columns ascend inside a row.
template <class X>
struct SparseRows {
  std::vector<std::uint64_t> starts;
  std::vector<std::uint32_t> columns;
  std::vector<X> values;
};

using Features = std::variant<DenseRows<std::uint8_t>, DenseRows<float>, DenseRows<double>, SparseRows<float>,
                              SparseRows<double>>;

// The value of a feature is scale * stored number. `labels` are the classes or targets of the source,
// before any task turns them into what a model trains on. Read-only once made, so safe to share.
struct Dataset {
  std::size_t rows = 0;
  std::size_t columns = 0;
  double scale = 1;
  Features features;
  std::vector<double> labels;
};

// The rows named, in the order named.
Dataset take_rows(const Dataset& data, std::span<const std::uint32_t> rows);

// All rows, row order[i] becoming row i. Dense rows move in place: no second copy of them is made.
Dataset reordered(Dataset data, std::span<const std::uint32_t> order);

// Floating features converted to the precision of the run (bytes stay bytes). Moves when there is nothing to do.
// A number too large for it is kBadData.
Result<Dataset> with_precision(Dataset data, Precision precision);

// SHA-256 (hex) of shape, scale, features and labels: two equal digests are the same data.
std::string data_digest(const Dataset& data);

// The same of a set that is read in parts: begin with all its rows counted, add the features of its parts in order, and
// finish with all labels. A sparse set has one part.
class DatasetDigest {
 public:
  // `like` has the columns, the scale and the kind of features.
  void begin(std::size_t rows, const Dataset& like);
  void add(const Features& features);
  std::string finish(std::span<const double> labels);

 private:
  Sha256 hash_;
};

}  // namespace mfl
