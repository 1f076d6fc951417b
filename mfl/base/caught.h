// What an exception means to a user.
#pragma once

#include "mfl/base/result.h"

namespace mfl {

// For a catch block: kRunFailed where memory or threads ran out, kInternal for all else, which is a bug.
Error caught_error();

}  // namespace mfl
