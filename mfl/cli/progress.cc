#include "mfl/cli/progress.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <string>
#include <utility>

namespace mfl::cli {
namespace {

constexpr auto kRedraw = std::chrono::milliseconds(100);
constexpr std::size_t kBarWidth = 24;

std::string duration_text(double seconds) {
  const auto whole = static_cast<std::uint64_t>(std::clamp(seconds, 0.0, 1e9));
  if (whole >= 3600) return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

}  // namespace

ProgressMeter::~ProgressMeter() {
  if (style_ == Style::kBar && started_) std::fputs("\r\x1b[K", stderr);
}

ProgressMeter::Style ProgressMeter::natural_style() {
  return ::isatty(STDERR_FILENO) == 1 ? Style::kBar : Style::kLines;
}

bool ProgressMeter::due(const Progress& progress) {
  if (style_ == Style::kLines) {
    const std::uint64_t tenth =
        static_cast<std::uint64_t>(static_cast<double>(progress.step) /
                                   static_cast<double>(std::max<std::uint64_t>(progress.steps, 1)) * 10);
    return std::exchange(tenth_, tenth) != tenth;
  }
  const Clock::time_point now = Clock::now();
  if (drawn_ != Clock::time_point{} && now - drawn_ < kRedraw) return false;
  drawn_ = now;
  return true;
}

void ProgressMeter::say(const std::string& line) const {
  const bool bar = style_ == Style::kBar && started_;
  std::fputs(fmt::format("{}mfl: {}\n", bar ? "\r\x1b[K" : "", line).c_str(), stderr);
}

void ProgressMeter::show(const Progress& progress) {
  if (style_ == Style::kNone) return;
  if (!std::exchange(started_, true)) {
    start_ = Clock::now();
    first_step_ = progress.step;
  }
  if (!due(progress)) return;
  const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  const auto done = static_cast<double>(progress.step - std::min(first_step_, progress.step));
  const double rate = seconds > 0 ? done / seconds : 0;
  const double share =
      static_cast<double>(progress.step) / static_cast<double>(std::max<std::uint64_t>(progress.steps, 1));
  std::string line = fmt::format("{:3.0f} %  step {}/{}  loss {:.6g}", 100 * share, progress.step,
                                 progress.steps, progress.train_loss);
  if (rate > 0)
    line += fmt::format("  {:.0f} steps/s  {} left", rate,
                        duration_text(static_cast<double>(progress.steps - progress.step) / rate));
  if (style_ == Style::kBar) {
    const auto filled = static_cast<std::size_t>(std::clamp(share, 0.0, 1.0) * kBarWidth);
    line = fmt::format("\r[{}{}] {}\x1b[K", std::string(filled, '#'), std::string(kBarWidth - filled, '.'),
                       line);
  } else {
    line += '\n';
  }
  std::fputs(line.c_str(), stderr);
  std::fflush(stderr);
}

}  // namespace mfl::cli
