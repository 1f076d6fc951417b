#include "mfl/cli/shell_command.h"

#include <fmt/core.h>

#include <algorithm>

#include "mfl/base/json.h"
#include "mfl/config/entries.h"
#include "mfl/data/fleet.h"

namespace mfl::cli {
namespace {

// As a flag takes it: without the quotes of TOML.
std::string flag_value(const Key& key, const Config& config) {
  const std::string toml = key.get(config);
  return toml.starts_with('"') ? std::string(Json::parse(toml).value_or(Json()).text()) : toml;
}

}  // namespace

std::string shell_word(std::string_view text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=,@%+-";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string_view::npos) return std::string(text);
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string shell_command(std::string_view command, const Config& config, bool (*wanted)(const Key&)) {
  const Config defaults;
  std::string out = fmt::format("mfl {}", command);
  for (const Key& key : config_keys())
    if (wanted(key) && key.get(config) != key.get(defaults))
      out += fmt::format(" {} {}", key.flag, shell_word(flag_value(key, config)));
  return out;
}

bool is_advise_key(const Key& key) {
  if (key.table == "run")
    return key.key == "seed" || key.key == "precision" || key.key == "engine" || key.key == "threads";
  return key.table != "algorithm";
}

std::string advise_line(const RunOutcome& run) {
  const bool whole = run.config.federation.fraction_train == 1 && run.config.federation.quorum == 0;
  const bool about_steps = std::ranges::any_of(run.warnings, [](const RunWarning& warning) {
    return warning.id != "constant_feature" && warning.id != "no_effect";
  });
  if (!about_steps || !whole || is_fleet(run.config.data.source) ||
      entry_of(run.config.algorithm).centralised || !entry_of(run.config.model).loss ||
      run.config.algorithm.adaptive_tau)
    return {};
  const std::uint64_t rounds =
      std::max<std::uint64_t>(1, run_length(run.config) / round_length(run.config.algorithm));
  return shell_command("theory advise", run.config,
                       [](const Key& key) { return is_advise_key(key) && key.key != "engine"; }) +
         fmt::format(" --budget-rounds {}", rounds);
}

}  // namespace mfl::cli
