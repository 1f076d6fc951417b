// A CSV file in blocks of rows, with memory that does not grow with the file: for predictions and evaluation.
//
//   auto stream = CsvStream::open("new.csv", {.features = schema.features, .label = "diagnosis"});
//   CsvBlock block;
//   for (;;) {
//     MFL_TRY(const bool more, (*stream)->next(block));
//     if (!more) break;
//     ... block.rows rows of block.features, and their labels
//   }
//
// Lines, fields and numbers are those of read_csv() (csv.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "mfl/base/result.h"
#include "mfl/data/csv.h"

namespace mfl {

struct CsvStreamOptions {
  // Names of the columns to give, in this order, wherever they are in the file; other columns are ignored,
  // and may hold any text. Names that occur more than once must occur as often in the file. Empty: columns
  // are found by position, all but the label and those to drop, in the order of the file.
  std::vector<std::string> features = {};
  // By position: how many columns must be left; 0: any number.
  std::size_t columns = 0;
  // By position: columns to ignore, by name or number from 0. By name there is no need to.
  std::vector<std::string> drop = {};
  // The column whose texts are given: a name, a number from 0, or "last". Empty: none.
  std::string label = {};
  // kAuto: where columns are found by name there must be a header; by position, the first line is one if a
  // field that would be a feature is not a number, or if it has the name of the label or of a column to drop.
  CsvHeader header = CsvHeader::kAuto;
  // The column `label` holds identifiers in place of labels, which may be empty.
  bool identifiers = false;
  char separator = ',';
  std::size_t block_rows = 4096;  // >= 1
};

// Consecutive rows.
struct CsvBlock {
  std::uint64_t first_row = 0;  // its place in the file, from 0
  std::size_t rows = 0;
  std::vector<double> features;  // row-major, rows x columns()
  // One per row, as UTF-8 and otherwise as they are in the file; empty if no label was requested.
  std::vector<std::string> labels;
  std::vector<std::uint64_t> lines;  // where each row begins, from 1
};

// Not thread-safe.
class CsvStream {
 public:
  // The longest line, quoted line ends included; a longer one is kBadData.
  static constexpr std::size_t kLongestRecord = std::size_t{64} << 20U;

  // "-" is standard input; any other path must be a regular file. Reads the beginning. kBadData for an empty
  // file, for missing columns (all of them are named, up to five) and for a file without the header that
  // names need; kBadConfig for a label or a column to drop that does not exist.
  static Result<std::unique_ptr<CsvStream>> open(const std::filesystem::path& path,
                                                 const CsvStreamOptions& options = {});
  virtual ~CsvStream() = default;
  CsvStream(const CsvStream&) = delete;
  CsvStream& operator=(const CsvStream&) = delete;

  // Number of features, and the names of their columns; empty if the file has no header.
  virtual std::size_t columns() const = 0;
  virtual const std::vector<std::string>& features() const = 0;
  // The label's column, counted from 1; 0: none was requested.
  virtual std::size_t label_column() const = 0;

  // The next rows: options.block_rows of them, fewer at the end. False if there are none, as for a file with
  // a header alone. The buffers of `block` are used again. kBadData as for read_csv, with file, line and
  // column; there is nothing to read after an error.
  virtual Result<bool> next(CsvBlock& block) = 0;

 protected:
  CsvStream() = default;
};

}  // namespace mfl
