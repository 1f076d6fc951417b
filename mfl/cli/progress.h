// How far a run is, on stderr.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "mfl/experiment/runner.h"

namespace mfl::cli {

// On a terminal a bar with loss, rate and time left, redrawn at most ten times a second; elsewhere a line at
// every tenth of the way.
class ProgressMeter {
 public:
  enum class Style { kNone, kLines, kBar };

  explicit ProgressMeter(Style style) : style_(style) {}
  ProgressMeter(const ProgressMeter&) = delete;
  ProgressMeter& operator=(const ProgressMeter&) = delete;
  // Wipes the bar.
  ~ProgressMeter();

  // kBar when stderr is a terminal, else kLines.
  static Style natural_style();

  void show(const Progress& progress);
  // A line between the others; also in a style that shows no progress.
  void say(const std::string& line) const;

 private:
  using Clock = std::chrono::steady_clock;
  bool due(const Progress& progress);

  Style style_;
  bool started_ = false;
  Clock::time_point start_;
  Clock::time_point drawn_;
  std::uint64_t first_step_ = 0;  // a resumed run does not start at 0
  std::uint64_t tenth_ = 0;
};

}  // namespace mfl::cli
