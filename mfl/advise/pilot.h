// Short trial runs of many settings over one federation, sharing each pass over the data. Nothing is recorded.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "mfl/config/config.h"
#include "mfl/engine/engine.h"

namespace mfl {

// gamma = 0 is FL, else MFL.
struct PilotSetting {
  double eta = 0;
  double gamma = 0;
  std::uint64_t tau = 1;

  bool operator==(const PilotSetting&) const = default;
};

struct PilotRun {
  PilotSetting setting;
  std::uint64_t rounds = 0;
  std::vector<double> losses;  // written: F(w(k tau)) for k = 1, 2, ...; ends early where it was not finite

  // The least of the first `count` losses; infinity when a loss among them was not finite.
  double best(std::size_t count) const;
};

// Runs all, from w = 0; settings with the same tau share each pass. False when it was stopped.
template <class T>
bool run_pilots(const Federation<T>& federation, double lambda, const RunConfig& where,
                std::span<PilotRun> runs, const std::atomic<bool>* stop);

}  // namespace mfl
