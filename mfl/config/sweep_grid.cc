#include "mfl/config/sweep_grid.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "mfl/base/digest.h"

namespace mfl {
namespace {

constexpr std::size_t kLargestGrid = 1'000'000;

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::string unquoted(std::string_view text) {
  const bool quoted =
      text.size() >= 2 && (text.front() == '"' || text.front() == '\'') && text.back() == text.front();
  return std::string(quoted ? text.substr(1, text.size() - 2) : text);
}

bool is_array(std::string_view text) { return text.starts_with('[') && text.ends_with(']'); }

// "[a, lognormal(1, 2), \"b, c\"]" has three.
std::vector<std::string> array_values(std::string_view text) {
  std::vector<std::string> values;
  std::size_t start = 1;
  int depth = 0;
  char quote = 0;
  for (std::size_t i = 1; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '(' || c == ')') {
      depth += c == '(' ? 1 : -1;
    }
    const bool last = i + 1 == text.size();
    if (!last && (c != ',' || quote != 0 || depth > 0)) continue;
    values.push_back(unquoted(trimmed(text.substr(start, i - start))));
    start = i + 1;
  }
  if (values.size() == 1 && values.front().empty()) values.clear();
  return values;
}

// A list is one value of such a key, not several.
bool takes_a_list(std::string_view table_dot_key) {
  const std::size_t dot = std::min(table_dot_key.find('.'), table_dot_key.size() - 1);
  const auto key = find_key(table_dot_key.substr(0, dot), table_dot_key.substr(dot + 1));
  return key && is_list(**key);
}

std::string name_of(const Key& key) { return fmt::format("{}.{}", key.table, key.key); }

}  // namespace

Result<void> set_sweep_key(Sweep& sweep, std::string_view table_dot_key, std::string_view text,
                           std::string_view where) {
  const auto axis = std::ranges::find_if(
      sweep.axes, [&](const SweepAxis& known) { return name_of(*known.key) == table_dot_key; });
  if (!is_array(text) || takes_a_list(table_dot_key)) {
    if (axis == sweep.axes.end()) return set_key(sweep.base, table_dot_key, text, where);
    return fail(ErrorCode::kBadConfig, fmt::format("{}: {} is an array in this sweep", where, table_dot_key),
                fmt::format("replace the array with --set {}=[{}]", table_dot_key, text));
  }
  const std::vector<std::string> values = array_values(text);
  if (values.empty()) return fail(ErrorCode::kBadConfig, fmt::format("{}: the array is empty", where));
  for (const std::string& value : values) {
    Config ignored;
    MFL_CHECK(set_key(ignored, table_dot_key, value, where));
  }
  const std::size_t dot = table_dot_key.find('.');
  MFL_TRY(const Key* key, find_key(table_dot_key.substr(0, dot), table_dot_key.substr(dot + 1)));
  if (axis != sweep.axes.end())
    axis->values = values;
  else
    sweep.axes.push_back({key, values});
  return {};
}

std::string axis_title(const Sweep& sweep, const SweepAxis& axis) {
  const auto same = std::ranges::count_if(
      sweep.axes, [&](const SweepAxis& other) { return other.key->key == axis.key->key; });
  return same > 1 ? name_of(*axis.key) : std::string(axis.key->key);
}

std::string axis_value(const SweepAxis& axis, const Config& config) {
  return unquoted(axis.key->get(config));
}

std::string name_group(const Sweep& sweep, std::vector<Config>& settings) {
  if (settings.size() < 2 ||
      std::ranges::any_of(sweep.axes, [](const SweepAxis& axis) { return name_of(*axis.key) == "run.name"; }))
    return {};
  std::string group = sweep.base.run.name;
  if (group.empty()) {
    constexpr std::size_t kDigits = 4;
    Sha256 digest;
    for (const Config& config : settings) digest.update(config_digest(config));
    group = "sweep-" + digest.finish_hex().substr(0, kDigits);
  }
  const std::size_t width = fmt::formatted_size("{}", settings.size());
  for (std::size_t i = 0; i < settings.size(); ++i)
    settings[i].run.name = fmt::format("{}/{:0{}}", group, i + 1, width);
  return group;
}

Result<std::vector<Config>> expand(const Sweep& sweep) {
  std::vector<Config> grid = {sweep.base};
  for (const SweepAxis& axis : sweep.axes) {
    if (grid.size() > kLargestGrid / axis.values.size())
      return fail(ErrorCode::kBadConfig, fmt::format("the grid has more than {} settings", kLargestGrid),
                  "sweep over fewer values");
    std::vector<Config> next;
    for (const Config& config : grid)
      for (const std::string& value : axis.values) {
        next.push_back(config);
        MFL_CHECK(axis.key->set(next.back(), value));
      }
    grid = std::move(next);
  }
  for (const Config& config : grid) MFL_CHECK(validate(config));
  return grid;
}

}  // namespace mfl
