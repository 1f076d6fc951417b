// Ctrl-C and SIGTERM as a flag that the runner polls.
#pragma once

#include <atomic>

namespace mfl::cli {

// True from the first SIGINT or SIGTERM after the call; a second one ends the process at once. Call once.
const std::atomic<bool>& watch_interrupts();

}  // namespace mfl::cli
