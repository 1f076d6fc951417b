// Arrays of a C caller as data.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mfl/base/result.h"
#include "mfl/capi/mfl.h"
#include "mfl/data/dataset.h"

namespace mfl::capi {

// Rows without labels. Dense numbers of the types that NPY data has are borrowed, others copied. kBadConfig for a description that is
// wrong, kBadData for numbers that are not finite; errors start with `name` ("x").
Result<Dataset> rows_of(const mfl_array& array, std::string_view name);

// One label per row of `x`. Errors as above.
Result<std::vector<double>> labels_of(const mfl_array& array, std::size_t rows, std::string_view name);

}  // namespace mfl::capi
