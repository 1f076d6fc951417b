// Ranks over an MPI communicator; only in builds with MPI.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>

#include "mfl/engine/ranks.h"

namespace mfl {

inline constexpr std::uint64_t kLargestMessage = std::uint64_t{1} << 30U;  // bytes; MPI counts with int

// The caller keeps the communicator, which outlives the ranks. MPI has been initialised; its errors end the job. More than
// `largest_message` bytes travel in several messages.
std::unique_ptr<Ranks> ranks_over(MPI_Comm communicator, std::uint64_t largest_message = kLargestMessage);

}  // namespace mfl
