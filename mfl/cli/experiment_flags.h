// An experiment on the command line: FILE, its keys as flags and --set, for every command that trains.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "mfl/base/result.h"
#include "mfl/cli/command.h"
#include "mfl/cli/config_flags.h"
#include "mfl/config/config.h"

namespace mfl::cli {

// Must not move after add(): the parser writes into it.
class ExperimentFlags {
 public:
  // `wanted` says which keys are flags; --set reaches all.
  void add(
      Command& command, bool (*wanted)(const Key&) = [](const Key&) { return true; });

  // After parsing: defaults < FILE < --set < flags < `last`, if any, validated.
  Result<Config> assemble(const std::function<Result<void>(Config&)>& last = {}) const;

  // What the command line gave: the name of FILE, "--gamma", "--set".
  std::vector<std::string> given() const;

 private:
  std::string file_;
  ConfigFlags flags_;
};

// "svm on mnist, mfl, eta 0.002, gamma 0.5, tau 4, 4 nodes (iid)"
std::string setting_text(const Config& config);

}  // namespace mfl::cli
