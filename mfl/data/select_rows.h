// Selects the rows of a source for training and for testing: a function of their numbers and of the options.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "mfl/base/result.h"
#include "mfl/data/source.h"

namespace mfl {

struct RowSelection {
  std::vector<std::uint32_t> train;  // rows of the pool
  // Rows of the test part, or of the pool where there is no test part; nothing: no test set.
  std::optional<std::vector<std::uint32_t>> test;
};

// Selects from a source with a training part, the pool, and a test part.
Result<RowSelection> select_from_two(std::size_t pool_rows, std::size_t test_rows,
                                     const DataOptions& options);
// Selects from a source with one part: folds, or test rows among those that training leaves. `usual_test`:
// see SourceParts::test_rows.
Result<RowSelection> select_from_pool(std::size_t rows, std::size_t usual_test, const DataOptions& options);

}  // namespace mfl
