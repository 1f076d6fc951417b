// Which rows of a source are for training and which for testing: a function of their numbers and of the options.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "mfl/base/result.h"
#include "mfl/data/source.h"

namespace mfl {

struct RowSelection {
  std::vector<std::uint32_t> train;  // of the pool
  std::optional<std::vector<std::uint32_t>>
      test;  // of the test part, or of the pool where there is none; nothing: no test set
};

// Of two parts.
Result<RowSelection> select_from_two(std::size_t pool_rows, std::size_t test_rows,
                                     const DataOptions& options);
// Of one, as folds or test rows from those that training leaves. `usual_test`: see SourceParts::test_rows.
Result<RowSelection> select_from_pool(std::size_t rows, std::size_t usual_test, const DataOptions& options);

}  // namespace mfl
