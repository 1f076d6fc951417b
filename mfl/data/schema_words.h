// Names of classes and columns in messages. Private to schema.cc and labels.cc.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "mfl/base/result.h"

namespace mfl {

// The classes of even-odd.
inline constexpr const char* kOdd = "odd";
inline constexpr const char* kEven = "even";

// On one line and of limited length.
std::string shown(std::string_view text);
// shown() in double quotes.
std::string in_quotes(std::string_view text);

// Names separated by commas, as they are shown, or in quotes. Of more than five the first three and how many
// there are: `0, 1, 2, ... (10)`.
std::string listed(std::span<const std::string> names);
std::string listed_in_quotes(std::span<const std::string> names);

// kBadData: these classes, at most one, are too few to tell classes apart.
tl::unexpected<Error> one_class(std::span<const std::string> classes);

}  // namespace mfl
