// Rows with their labels, for judging a model.
#pragma once

#include "mfl/base/result.h"
#include "mfl/data/dataset.h"
#include "mfl/data/schema.h"
#include "mfl/data/source.h"

namespace mfl {

// All rows of a data spec, with the columns of the schema in its order: of csv:FILE the columns of its names, of libsvm:FILE as many as it has; of any
// other spec its test part, or all rows if it has none. Errors as those of load(), and kBadData for other columns.
Result<Dataset> labelled_rows(const DataOptions& options, const Schema& schema);

}  // namespace mfl
