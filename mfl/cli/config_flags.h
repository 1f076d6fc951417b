// The keys of Config as flags, and --set.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "mfl/base/result.h"
#include "mfl/cli/command.h"
#include "mfl/config/config.h"
#include "mfl/config/config_keys.h"
#include "mfl/config/sweep_grid.h"

namespace mfl::cli {

// A required data spec: of any source that has rows to read, or of the user's own data alone.
Option* add_source_option(Command& command, const std::string& name, std::string& spec,
                          bool own_data_only = false);

// Must not move after add(): the parser writes into it.
class ConfigFlags {
 public:
  ConfigFlags() = default;
  ConfigFlags(const ConfigFlags&) = delete;
  ConfigFlags& operator=(const ConfigFlags&) = delete;

  // Adds a flag for each key that `wanted` accepts, grouped by table. The help shows what `defaults` has.
  void add(Command& command, bool (*wanted)(const Key&), const Config& defaults = {});
  // --set table.key=value, any number of times.
  void add_set(Command& command);

  // After parsing: --set first, then the flags, over what `config` holds.
  Result<void> apply(Config& config) const;
  // The same over a sweep, where "[a, b]" makes a key an axis (set_sweep_key).
  Result<void> apply(Sweep& sweep) const;

  // The flags on the command line: "--gamma", "--set".
  std::vector<std::string> given() const;

 private:
  // What was given, in order of precedence: a "table.key", its text, and how the user wrote it.
  using Setter =
      std::function<Result<void>(const std::string& key, const std::string& text, const std::string& where)>;
  Result<void> for_each_given(const Setter& set) const;
  // The keys that were given, with their texts.
  std::vector<std::pair<std::string, std::string>> texts() const;

  struct Flag {
    const Key* key;
    Option* option;
  };
  std::vector<Flag> flags_;
  Option* set_ = nullptr;
};

}  // namespace mfl::cli
