// LIBSVM (svmlight) text: "label index:value index:value ...", one sample per line.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>

#include "mfl/base/result.h"
#include "mfl/data/dataset.h"
#include "mfl/data/text.h"

namespace mfl {

// Indices count from 1 and ascend inside a line; '#' starts a comment; blank lines are skipped. Stays sparse,
// f64, scale 1. The set has `columns` features (a larger index is then an error), or else as many as the
// largest index.
Result<Dataset> read_libsvm(const std::filesystem::path& path,
                            std::optional<std::size_t> columns = std::nullopt);
// Parses the contents of a file.
Result<Dataset> parse_libsvm(const FileBytes& file, std::optional<std::size_t> columns = std::nullopt);
// Parses some lines of a file, the first of which has the number `first_line`. There may be no sample among
// them.
Result<Dataset> parse_libsvm_part(const FileBytes& lines, std::size_t columns, std::size_t first_line);

}  // namespace mfl
