// Ctrl-C, SIGTERM, SIGHUP and SIGUSR1 as a flag that the runner polls.
#pragma once

#include <atomic>

namespace mfl::cli {

// True from the first SIGINT, SIGTERM, SIGHUP (a closed terminal) or SIGUSR1 (what a batch system sends before the time is up,
// and mpirun forwards) after the call. A later signal ends the process at once. Two at the same moment, as timeout(1)
// sends them, count as one. A SIGHUP that is ignored, as under nohup, stays ignored. SIGPIPE is ignored from now on: a
// run whose terminal is gone is recorded to its end.
//
// The first Ctrl-C writes "mfl: " and `notice` on stderr at once; null: nothing. Call once.
const std::atomic<bool>& watch_interrupts(const char* notice = nullptr);

// For a command that stops at the end of a round.
inline constexpr const char* kStopsAfterRound = "stopping after this round; Ctrl-C again to stop now";

// Whether the last line on stderr is a progress bar, which a notice must wipe before it is written.
extern std::atomic<bool> progress_bar_shown;

}  // namespace mfl::cli
