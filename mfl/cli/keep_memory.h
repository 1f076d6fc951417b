// The memory of commands that run for many rounds.
#pragma once

namespace mfl::cli {

// Freed memory stays with the process for its next round. Otherwise glibc returns vectors of the model's size to the system in every round,
// and their pages are cleared again before the next one. Blocks of more than 32 MiB are returned all the same. For the whole
// process; does nothing without glibc.
void keep_freed_memory();

}  // namespace mfl::cli
