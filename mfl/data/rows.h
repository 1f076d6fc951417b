// Data sets whose rows are read on demand, for a process that needs only some of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mfl/base/files.h"
#include "mfl/base/result.h"
#include "mfl/data/dataset.h"

namespace mfl {

struct RowShape {
  std::size_t rows = 0;
  std::size_t columns = 0;
  double scale = 1;
  bool sparse = false;
};

// A set of rows. Labels are in memory, features need not be. Read-only but for release(), so safe to share.
class RowSource {
 public:
  RowSource(const RowShape& shape, std::vector<double> labels, std::shared_ptr<const Origin> origin)
      : shape_(shape), labels_(std::move(labels)), origin_(std::move(origin)) {}
  RowSource(const RowSource&) = delete;
  RowSource& operator=(const RowSource&) = delete;
  virtual ~RowSource() = default;

  const RowShape& shape() const { return shape_; }
  const std::vector<double>& labels() const { return labels_; }
  const std::shared_ptr<const Origin>& origin() const { return origin_; }  // may be null
  // Dataset::groups: one per row, or none.
  virtual std::span<const std::uint32_t> groups() const { return {}; }
  // The rows named, in the order named. Errors as those of the reader.
  virtual Result<Features> read(std::span<const std::uint32_t> rows) const = 0;
  // All rows in their order. A set in memory gives them away: nothing can be read from it afterwards.
  virtual Result<Features> release();

 private:
  RowShape shape_;
  std::vector<double> labels_;
  std::shared_ptr<const Origin> origin_;
};

// A set that is already in memory.
std::unique_ptr<RowSource> rows_in_memory(Dataset data);

// Rows of plain numbers in a file, `start` bytes after its beginning. A file that ends before them is
// kBadData.
template <class X>
Result<std::vector<X>> read_rows(const FileReader& file, std::uint64_t start, std::size_t columns,
                                 std::span<const std::uint32_t> rows);

// One hash of the stored numbers of each row, and of their type: equal for equal rows, whatever set they are
// in. Finds accidental differences at the speed of memory; it does not withstand an attacker.
std::vector<std::uint64_t> row_hashes(const Dataset& data);

// Some rows of a source, in an order of their own.
class SomeRows {
 public:
  SomeRows(std::shared_ptr<RowSource> source, std::vector<std::uint32_t> rows);
  // All of them, in their order.
  explicit SomeRows(std::shared_ptr<RowSource> source);

  std::size_t size() const { return rows_.size(); }
  std::size_t columns() const { return shape_.columns; }
  RowShape& shape() { return shape_; }  // columns and scale may be changed
  const RowShape& shape() const { return shape_; }
  // One per row.
  std::vector<double> labels() const;
  // All rows and labels, with their origin, and no features: what partitions and schemas look at.
  Dataset without_features() const;
  // The rows at the places named, in the order named.
  Result<Dataset> read(std::span<const std::uint32_t> places) const;
  // All the rows in their order, and nothing is left to read. Those of a set in memory move if they are all
  // of it and no other SomeRows uses it.
  Result<Dataset> take() &&;
  // data_digest() of all the rows, of which few are in memory at a time where the source reads them.
  // `hashes`, if any, gets one hash per row: see row_hashes().
  Result<std::string> digest(std::vector<std::uint64_t>* hashes = nullptr) const;

 private:
  std::shared_ptr<RowSource> source_;
  std::vector<std::uint32_t> rows_;
  RowShape shape_;
};

}  // namespace mfl
