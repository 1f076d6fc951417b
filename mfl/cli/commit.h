// The commit that a program was built from. Its source is written by cmake/mfl_commit.cmake in every build and linked into the program alone,
// so that a new commit compiles nothing else.
#pragma once

#include <string_view>

namespace mfl::cli {

// "4f2b9c01d7aa", with "-dirty" after it where files differed from the commit; empty for a build outside of a checkout.
std::string_view commit();

}  // namespace mfl::cli
