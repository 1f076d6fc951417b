// Ctrl-C and SIGTERM as a flag that the runner polls.
#pragma once

#include <atomic>

namespace mfl::cli {

// True from the first SIGINT or SIGTERM after the call, or, in a process that mpirun started, SIGUSR1, which mpirun hands
// on; a later one ends the process at once. Both at the same moment, as timeout(1) sends them, are one. Call once.
const std::atomic<bool>& watch_interrupts();

}  // namespace mfl::cli
