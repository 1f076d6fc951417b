#include "mfl/cli/compare_flags.h"

#include <fmt/core.h>

#include <cmath>

namespace mfl::cli {

void CompareFlags::add(Command& command) {
  command.add_option("RUN", ids, kRunsHelp)->required();
  command.add_option("--baseline", options.baseline, "The algorithm whose final loss is the target")
      ->type_name("NAME")
      ->capture_default_str();
  command.add_option("--target", options.target, "The training loss to reach")->type_name("LOSS");
  command
      .add_option("--label", labels, "What to call a run, with all others of its setting; may be repeated")
      ->type_name("RUN=TEXT");
  add_store_flag(command, store);
}

Result<CompareOptions> CompareFlags::labelled(const Store& opened) const {
  CompareOptions out = options;
  for (const std::string& text : labels) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals + 1 == text.size())
      return fail(ErrorCode::kBadConfig, fmt::format("--label {}: must be RUN=TEXT", text));
    MFL_TRY(const RunRow run, opened.get(text.substr(0, equals)));
    out.labels[run.id] = text.substr(equals + 1);
  }
  return out;
}

Result<Store> CompareFlags::open() const {
  if (options.target && !std::isfinite(*options.target))
    return fail(ErrorCode::kBadConfig, "--target: must be a finite number");
  return open_store(store);
}

}  // namespace mfl::cli
