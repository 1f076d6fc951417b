#include "mfl/cli/text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>

#include "mfl/report/table.h"

namespace mfl::cli {

std::string facts_text(const Facts& facts) {
  std::size_t width = 0;
  for (const auto& [name, value] : facts) width = std::max(width, name.size());
  std::string out;
  for (const auto& [name, value] : facts)
    if (!value.empty()) out += fmt::format("{:<{}}  {}\n", name, width, value);
  return out;
}

void add_warnings(Facts& facts, const std::vector<RunWarning>& warnings) {
  for (const RunWarning& warning : warnings) {
    facts.emplace_back("warning", warning.message);
    facts.emplace_back("", warning.hint);
  }
}

std::string percent_text(const std::optional<double>& share) { return share ? mfl::percent_text(share) : ""; }

std::string loss_text(const std::optional<double>& loss) { return loss ? fmt::format("{:.10g}", *loss) : ""; }

}  // namespace mfl::cli
