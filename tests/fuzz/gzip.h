// Compression, for testing decompression.
#pragma once

#include <string>
#include <string_view>

namespace mfl::fuzz {

std::string gzip(std::string_view bytes);

}  // namespace mfl::fuzz
