// Arguments of the commands that compare runs: which runs, and the loss to reach.
#pragma once

#include <string>
#include <vector>

#include "mfl/base/result.h"
#include "mfl/cli/commands.h"
#include "mfl/report/compare.h"

namespace mfl::cli {

struct CompareFlags {
  std::string store;
  std::vector<std::string> ids;
  CompareOptions options;

  std::vector<std::string> labels;  // RUN=TEXT

  // RUN, --baseline, --target, --label and --store.
  void add(Command& command);
  // Checks the options and opens the store.
  Result<Store> open() const;
  // The options with the labels of the runs that they name.
  Result<CompareOptions> labelled(const Store& opened) const;
};

}  // namespace mfl::cli
