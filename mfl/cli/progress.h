// The progress of a run, on stderr.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "mfl/run/runner.h"

namespace mfl::cli {

// On a terminal one line with a bar, redrawn at most ten times a second; elsewhere one line per tenth of the steps. A line on a
// terminal is always narrower than the terminal, whose width is asked again at each redraw: what does not fit is left out, the
// rate first, then the bar, the time left, the loss and the step. Not thread-safe.
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
  void say(const std::string& line);

 private:
  using Clock = std::chrono::steady_clock;
  bool due(const Progress& progress);
  void draw(const std::string& line, std::size_t terminal_width);
  void wipe(std::size_t terminal_width);

  Style style_;
  bool started_ = false;
  Clock::time_point start_;
  Clock::time_point drawn_;
  std::size_t drawn_width_ = 0;   // of the bar on the terminal; 0: there is none
  std::uint64_t first_step_ = 0;  // a resumed run does not start at 0
  std::uint64_t tenth_ = 0;
};

}  // namespace mfl::cli
