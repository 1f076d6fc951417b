// What commands that set runs side by side ask for: which runs, and the loss to reach.
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

  // ID, --baseline, --target and --store.
  void add(Command& command);
  // The store that is meant, once the options are seen to be in order.
  Result<Store> open() const;
};

}  // namespace mfl::cli
