#include "mfl/cli/text.h"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <span>

#include "mfl/report/table.h"
#include "mfl/report/test_metrics.h"

namespace mfl::cli {

std::size_t terminal_width(int descriptor) {
  constexpr std::size_t kUsual = 80;
  winsize size = {};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const char* columns = std::getenv("COLUMNS");
  const long given = columns != nullptr ? std::strtol(columns, nullptr, 10) : 0;
  return given > 0 ? static_cast<std::size_t>(given) : kUsual;
}

std::size_t stdout_width() {
  return ::isatty(STDOUT_FILENO) == 1 ? terminal_width(STDOUT_FILENO)
                                      : std::numeric_limits<std::size_t>::max();
}

std::string folded(std::string_view text, std::size_t width, std::size_t indent) {
  std::string out;
  std::size_t room = width;
  while (text.size() > room) {
    std::size_t end = text.rfind(' ', room);
    if (end == std::string_view::npos || end == 0) end = text.find(' ', room);
    if (end == std::string_view::npos) break;
    out += text.substr(0, end);
    out += '\n' + std::string(indent, ' ');
    text.remove_prefix(std::min(text.find_first_not_of(' ', end), text.size()));
    room = width > indent ? width - indent : 1;
  }
  return out + std::string(text);
}

std::string facts_text(const Facts& facts) {
  constexpr std::size_t kGap = 2;
  std::size_t width = 0;
  for (const auto& [name, value] : facts) width = std::max(width, name.size());
  std::string out;
  for (const auto& [name, value] : facts)
    if (!value.empty())
      out += folded(fmt::format("{:<{}}  {}", name, width, value), stdout_width(), width + kGap) + '\n';
  return out;
}

void add_metrics(Facts& facts, std::string_view test_metrics) {
  const Facts lines = metric_lines(test_metrics);
  const auto accuracy = std::ranges::find(facts, "test accuracy", &Facts::value_type::first);
  facts.insert(accuracy == facts.end() ? accuracy : accuracy + 1, lines.begin(), lines.end());
}

void add_warnings(Facts& facts, const std::vector<RunWarning>& warnings) {
  constexpr std::size_t kMost = 2;
  for (const RunWarning& warning : std::span(warnings).first(std::min(kMost, warnings.size()))) {
    facts.emplace_back("warning", warning.message);
    facts.emplace_back("", warning.hint);
  }
  if (warnings.size() > kMost)
    facts.emplace_back("", fmt::format("and {} more: --json has all of them", warnings.size() - kMost));
}

std::string percent_text(const std::optional<double>& share) { return share ? mfl::percent_text(share) : ""; }

std::string loss_text(const std::optional<double>& loss) { return loss ? fmt::format("{:.10g}", *loss) : ""; }

}  // namespace mfl::cli
