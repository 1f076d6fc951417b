// Internal to mfl/trained: the columns of a CSV file that a model needs, part by part.
#pragma once

#include <memory>

#include "mfl/trained/row_blocks.h"

namespace mfl {

// Reads fields as read_csv() does. The label column, if the file has one, is not read.
Result<std::unique_ptr<RowBlocks>> open_csv_blocks(const std::filesystem::path& path,
                                                   const CsvOptions& options, const Schema& schema);

}  // namespace mfl
