// Text for terminals.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "mfl/record/run.h"

namespace mfl::cli {

using Facts = std::vector<std::pair<std::string, std::string>>;

// One "name   value" per line, values aligned; facts with an empty value are left out.
std::string facts_text(const Facts& facts);

// Two lines for each: what, and what to do.
void add_warnings(Facts& facts, const std::vector<RunWarning>& warnings);

// "81.02 %", or empty.
std::string percent_text(const std::optional<double>& share);

// Ten significant digits, or empty.
std::string loss_text(const std::optional<double>& loss);

}  // namespace mfl::cli
