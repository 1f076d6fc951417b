// Internal to mfl/trained: which columns of some data are the features of a model.
#pragma once

#include <string>
#include <vector>

#include "mfl/base/result.h"
#include "mfl/data/schema.h"

namespace mfl {

// For each feature of the schema, which has names, its position in `names`. kBadData that begins with `where` and names the features that are
// missing, or one that occurs twice.
Result<std::vector<std::size_t>> places_by_name(const std::string& where,
                                                const std::vector<std::string>& names, const Schema& schema);

}  // namespace mfl
