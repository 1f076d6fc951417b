// Tables in the documentation: one row per entry, in the words of the entry.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "mfl/base/catalog.h"

namespace mfl::test {

// "| `trimmed-mean(fraction)` | mean of ...; `fraction`: share of ..., a number in [0, 0.5) |"
inline std::string table_row(const CatalogEntry& entry) {
  std::string row = fmt::format("| `{}`", usage_text(entry));
  for (const std::string& alias : entry.aliases) row += fmt::format(", `{}`", alias);
  row += fmt::format(" | {}", entry.description);
  for (const Parameter& parameter : entry.parameters)
    row += fmt::format("; `{}`: {}, {}", parameter.name, parameter.help, range_text(parameter));
  return row + " |";
}

// The rows of the table of a page whose first column is headed `kind`.
inline std::vector<std::string> documented_rows(std::string_view page, std::string_view kind) {
  const std::size_t header = page.find(fmt::format("\n| {} | ", kind));
  if (header == std::string_view::npos) return {};
  page.remove_prefix(header + 1);
  std::vector<std::string> rows;
  while (page.starts_with('|')) {
    const std::size_t end = std::min(page.find('\n'), page.size());
    rows.emplace_back(page.substr(0, end));
    page.remove_prefix(std::min(end + 1, page.size()));
  }
  constexpr std::size_t kHeaderLines = 2;
  rows.erase(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(std::min(kHeaderLines, rows.size())));
  return rows;
}

}  // namespace mfl::test
