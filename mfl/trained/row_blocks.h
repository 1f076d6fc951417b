// The rows of a data spec for a model, block by block. Memory is that of a block, however long the file is.
#pragma once

#include <memory>
#include <optional>

#include "mfl/base/result.h"
#include "mfl/data/dataset.h"
#include "mfl/data/schema.h"
#include "mfl/data/source.h"

namespace mfl {

// Not thread-safe.
class RowBlocks {
 public:
  virtual ~RowBlocks() = default;
  // The next rows, in order, with the columns of the schema in its order and labels that mean nothing; nothing at the end. With
  // DataOptions::csv.group, the column of identifiers, row i has groups[i] = i and its identifier is origin->groups[i].
  virtual Result<std::optional<Dataset>> next() = 0;
};

// csv:FILE (csv_stream.h; csv:- is standard input), whose columns are found by the names in its header, in any order; missing ones are
// kBadData that names them, others are ignored. Columns are taken in their order where the schema has no names or options.header is kNo: as many as the
// schema has, with or without the label column of the options. libsvm:FILE; npy:FILE.npy, or npy:DIR for DIR/x.npy. Any other spec gives its
// test part, or all rows if it has none.
Result<std::unique_ptr<RowBlocks>> open_row_blocks(const DataOptions& options, const Schema& schema);

}  // namespace mfl
