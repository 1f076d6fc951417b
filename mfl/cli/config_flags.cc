#include "mfl/cli/config_flags.h"

#include <fmt/core.h>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

namespace mfl::cli {
namespace {

// The text is taken from the option after parsing.
CLI::callback_t keep() {
  return [](const CLI::results_t&) { return true; };
}

}  // namespace

void ConfigFlags::add(CLI::App& command, bool (*wanted)(const Key&)) {
  for (const Key& key : config_keys()) {
    if (!wanted(key)) continue;
    CLI::Option* option = command.add_option(std::string(key.flag), keep(), std::string(key.help));
    option->type_name(std::string(key.placeholder))->group(fmt::format("[{}]", key.table));
    option->type_size(1)->expected(1)->default_str(default_text(key));
    flags_.push_back({&key, option});
  }
}

void ConfigFlags::add_set(CLI::App& command) {
  set_ = command.add_option("--set", keep(), "Any key of an experiment file, as often as needed");
  set_->type_name("TABLE.KEY=VALUE")->type_size(1)->expected(1)->take_all()->allow_extra_args(false);
}

Result<void> ConfigFlags::apply(Config& config) const {
  if (set_ != nullptr) {
    for (const std::string& text : set_->results()) {
      const std::size_t equals = text.find('=');
      const std::string where = "--set " + text;
      if (equals == std::string::npos)
        return fail(ErrorCode::kBadConfig, where + ": has no =", "write --set algorithm.gamma=0.9");
      MFL_CHECK(set_key(config, text.substr(0, equals), text.substr(equals + 1), where));
    }
  }
  for (const Flag& flag : flags_) {
    if (flag.option->count() == 0) continue;
    const std::string text = flag.option->results().front();
    // The parser takes whatever stands behind a flag.
    if (text.starts_with("--"))
      return fail(ErrorCode::kBadConfig,
                  fmt::format("{}: its value is missing before {}", flag.key->flag, text));
    MFL_CHECK(set_key(config, fmt::format("{}.{}", flag.key->table, flag.key->key), text,
                      fmt::format("{} {}", flag.key->flag, text)));
  }
  return {};
}

std::vector<std::string> ConfigFlags::given() const {
  std::vector<std::string> names;
  if (set_ != nullptr && set_->count() > 0) names.emplace_back("--set");
  for (const Flag& flag : flags_)
    if (flag.option->count() > 0) names.emplace_back(flag.key->flag);
  return names;
}

}  // namespace mfl::cli
