// Text of others in our own messages.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace mfl {

// On one line of a log or a terminal: control characters, line and direction marks, and bytes that are not
// UTF-8 are written as \xNN. What takes more than `most` bytes then is cut between characters and followed by
// "... (N bytes)", N being text.size(). The result is UTF-8. Cost: that of `most` bytes.
std::string visible(std::string_view text, std::size_t most);

}  // namespace mfl
