// The types of a typed test of what exists in both precisions.
#pragma once

#include <gtest/gtest.h>

namespace mfl::test {

using Precisions = ::testing::Types<float, double>;

}  // namespace mfl::test
