// Text for terminals.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mfl/record/run.h"

namespace mfl::cli {

using Facts = std::vector<std::pair<std::string, std::string>>;

// One "name   value" per line, values aligned and, on a terminal, folded to its width; facts with an empty value are left out.
std::string facts_text(const Facts& facts);

// Broken at blanks into lines of at most `width` columns, those after the first indented. A word longer than a line stays whole.
std::string folded(std::string_view text, std::size_t width, std::size_t indent);

// Of the terminal at a file descriptor; else COLUMNS, else 80.
std::size_t terminal_width(int descriptor);

// Of the terminal on stdout; without limit where stdout is none.
std::size_t stdout_width();

// The metrics of a test set (RunSummary::test_metrics), after the fact "test accuracy".
void add_metrics(Facts& facts, std::string_view test_metrics);

// Two lines for each of the first two: what, and what to do.
void add_warnings(Facts& facts, const std::vector<RunWarning>& warnings);

// "81.02 %", or empty.
std::string percent_text(const std::optional<double>& share);

// Ten significant digits, or empty.
std::string loss_text(const std::optional<double>& loss);

}  // namespace mfl::cli
