// A recorded run that stopped before its end, as the store has it at its last checkpoint.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mfl/algorithm/early_stop.h"
#include "mfl/base/result.h"
#include "mfl/record/store.h"

namespace mfl {

struct Unfinished {
  std::string id;
  std::optional<Checkpoint> checkpoint = {};   // absent: it starts again from the beginning
  double wall_seconds = 0;                     // spent up to the checkpoint
  std::optional<double> virtual_seconds = {};  // where there is a virtual time
  std::uint64_t bytes_up = 0, bytes_down = 0;  // transferred
  std::vector<RoundLoss> losses = {};          // of its rounds

  std::optional<std::uint64_t> round() const {
    return checkpoint ? std::optional(checkpoint->round) : std::nullopt;
  }
};

// Changes nothing. Store::rewind to round() is what lets the run continue.
Result<Unfinished> read_unfinished(const Store& store, const std::string& id);

}  // namespace mfl
