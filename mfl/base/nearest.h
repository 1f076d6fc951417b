// Suggestions for misspelt words.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace mfl {

// The candidate with the fewest edits from `word` (insert, delete, replace, swap two neighbours: 1 each; case
// counts), the first of equals. Empty when even that one is more than max(2, word length / 3) edits away, or
// when the edits would leave nothing of the word.
std::string nearest(std::string_view word, std::span<const std::string_view> candidates);

// As above, with at most `most_edits` edits.
std::string nearest(std::string_view word, std::span<const std::string_view> candidates,
                    std::size_t most_edits);

// "; did you mean "gamma"?" with the nearest candidate, for the end of a message; empty if there is none.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace mfl
