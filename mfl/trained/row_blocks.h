// The rows of a data spec for a model, in parts: one after the other is taken from the file, and any thread makes rows of it. Memory is that of
// the parts in use, however long the file is.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "mfl/base/result.h"
#include "mfl/data/dataset.h"
#include "mfl/data/schema.h"
#include "mfl/data/source.h"

namespace mfl {

class RowBlocks {
 public:
  struct Part {
    std::string text;       // whole lines
    std::size_t first = 0;  // the number of the first line, or of the first row
    std::size_t count = 0;  // rows, where they are not lines
  };

  virtual ~RowBlocks() = default;
  // In order; nothing at the end. By one thread at a time.
  virtual Result<std::optional<Part>> take() = 0;
  // The rows of a part, with the columns of the schema in its order, and labels that mean nothing. By any number of threads.
  virtual Result<Dataset> rows(const Part& part) const = 0;
};

// csv:FILE, whose columns are found by the names in its header, in any order; missing ones are kBadData that names them, others are ignored. Columns are
// taken in their order where the file or the schema has no names: as many as the schema has, with or without the label column.
// libsvm:FILE; npy:FILE.npy, or npy:DIR for DIR/x.npy. Any other spec gives its test part, or all rows if it has none. The schema must outlive
// the result.
Result<std::unique_ptr<RowBlocks>> open_row_blocks(const DataOptions& options, const Schema& schema);

// The columns of a set that a schema names, in its order. kBadData as above.
Result<Dataset> with_columns_of(Dataset data, const Schema& schema);

}  // namespace mfl
