// Promises of every data reader.
#pragma once

#include "mfl/base/result.h"
#include "mfl/data/dataset.h"

namespace mfl::fuzz {

// Rows and labels fit each other, all numbers are finite, sparse rows are well-formed.
void require_whole(const Dataset& data);

// An error has its code, a message on one line and a hint.
void require_error(const Error& error);

// `again` was read from what `data` was written as: the same bits.
void require_same(const Dataset& data, const Result<Dataset>& again);

}  // namespace mfl::fuzz
