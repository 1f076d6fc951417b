// Text for terminals.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mfl::cli {

using Facts = std::vector<std::pair<std::string, std::string>>;

// One "name   value" per line, values aligned; facts with an empty value are left out.
std::string facts_text(const Facts& facts);

// "81.02 %", or empty.
std::string percent_text(const std::optional<double>& share);

// Ten significant digits, or empty.
std::string loss_text(const std::optional<double>& loss);

}  // namespace mfl::cli
