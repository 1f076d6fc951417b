// Algorithms in few words, for tables and pictures.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mfl {

// One name for each canonical one (RunRow::algorithm): without the parameters that are the same wherever the
// algorithm occurs among them. "fedadam", or "fedadam(server_lr=0.1)" beside "fedadam(server_lr=1)".
std::vector<std::string> brief_algorithms(std::span<const std::string> algorithms);

// Whether a user who says `name` means this algorithm: "fedadam" is one with any parameters.
bool is_algorithm(std::string_view algorithm, std::string_view name);

}  // namespace mfl
