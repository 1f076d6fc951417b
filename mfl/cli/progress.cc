#include "mfl/cli/progress.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "mfl/cli/interrupt.h"
#include "mfl/cli/text.h"

namespace mfl::cli {
namespace {

constexpr auto kRedraw = std::chrono::milliseconds(100);
constexpr std::size_t kWidestBar = 24, kNarrowestBar = 8;
constexpr std::size_t kRoomForEcho = 3;  // the terminal shows "^C" behind the line, which must not break it

std::string clock_text(double seconds) {
  const auto whole = static_cast<std::uint64_t>(std::clamp(seconds, 0.0, 1e9));
  if (whole >= 3600) return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

double share_of(const Progress& progress) {
  return std::clamp(
      static_cast<double>(progress.step) / static_cast<double>(std::max<std::uint64_t>(progress.steps, 1)),
      0.0, 1.0);
}

// The parts of a line from left to right.
struct Parts {
  std::string percent, step, result, rate, left;

  std::string text() const {
    std::string line = percent;
    for (const std::string* part : {&step, &result, &rate, &left})
      if (!part->empty()) line += "  " + *part;
    return line;
  }
};

std::string live_loss_text(const Losses& losses) {
  const auto [name, value] = loss_of_rounds(losses);
  return value ? fmt::format("{} loss {:.6g}", name.substr(0, name.find('_')), *value) : "";
}

Parts parts_of(const Progress& progress, double rate) {
  Parts parts;
  parts.percent = fmt::format("{:3.0f} %", 100 * share_of(progress));
  parts.step = fmt::format("step {}/{}", progress.step, progress.steps);
  parts.result = progress.settings > 1
                     ? fmt::format("{} of {} settings done", progress.settings_done, progress.settings)
                     : live_loss_text(progress.losses);
  if (rate > 0) {
    parts.rate = fmt::format("{:.0f} steps/s", rate);
    parts.left =
        fmt::format("{} left", clock_text(static_cast<double>(progress.steps - progress.step) / rate));
  }
  return parts;
}

std::string bar_text(double share, std::size_t width) {
  const auto filled = static_cast<std::size_t>(share * static_cast<double>(width));
  return fmt::format("[{}{}] ", std::string(filled, '#'), std::string(width - filled, '.'));
}

// At most `room` columns.
std::string fitted(Parts parts, double share, std::size_t room) {
  constexpr std::size_t kBarFrame = 3;
  const auto fits = [&](std::size_t beside) { return parts.text().size() + beside <= room; };
  if (!fits(kBarFrame + kNarrowestBar)) parts.rate.clear();
  if (fits(kBarFrame + kNarrowestBar)) {
    const std::size_t width = std::min(kWidestBar, room - parts.text().size() - kBarFrame);
    return bar_text(share, width) + parts.text();
  }
  for (std::string* part : {&parts.left, &parts.result, &parts.step})
    if (!fits(0)) part->clear();
  return parts.text().substr(0, room);
}

}  // namespace

ProgressMeter::~ProgressMeter() { wipe(terminal_width(STDERR_FILENO)); }

ProgressMeter::Style ProgressMeter::natural_style() {
  return ::isatty(STDERR_FILENO) == 1 ? Style::kBar : Style::kLines;
}

bool ProgressMeter::due(const Progress& progress) {
  if (style_ == Style::kLines) {
    const auto tenth = static_cast<std::uint64_t>(share_of(progress) * 10);
    return std::exchange(tenth_, tenth) != tenth;
  }
  const Clock::time_point now = Clock::now();
  if (drawn_ != Clock::time_point{} && now - drawn_ < kRedraw) return false;
  drawn_ = now;
  return true;
}

// A terminal that became narrower than the bar has broken it into several lines.
void ProgressMeter::wipe(std::size_t terminal_width) {
  if (drawn_width_ == 0) return;
  const std::size_t lines_above = (drawn_width_ - 1) / terminal_width;
  std::string wiped = "\r";
  if (lines_above > 0) wiped += fmt::format("\x1b[{}A\x1b[J", lines_above);
  std::fputs((wiped + "\x1b[K").c_str(), stderr);
  std::fflush(stderr);
  drawn_width_ = 0;
  progress_bar_shown = false;
}

void ProgressMeter::draw(const std::string& line, std::size_t terminal_width) {
  if (drawn_width_ > terminal_width) wipe(terminal_width);
  drawn_width_ = line.size();
  progress_bar_shown = true;
  std::fputs(("\r" + line + "\x1b[K").c_str(), stderr);
  std::fflush(stderr);
}

void ProgressMeter::say(const std::string& line) {
  wipe(terminal_width(STDERR_FILENO));
  std::fputs(fmt::format("mfl: {}\n", line).c_str(), stderr);
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
  const Parts parts = parts_of(progress, seconds > 0 ? done / seconds : 0);
  if (style_ == Style::kBar) {
    const std::size_t width = terminal_width(STDERR_FILENO);
    draw(fitted(parts, share_of(progress), std::max(width, kRoomForEcho + 1) - kRoomForEcho), width);
  } else {
    std::fputs((parts.text() + "\n").c_str(), stderr);
    std::fflush(stderr);
  }
}

}  // namespace mfl::cli
