// Ranks over an MPI communicator; only where mfl is built with MPI.
#pragma once

#include <mpi.h>

#include <memory>

#include "mfl/engine/ranks.h"

namespace mfl {

// The communicator stays the caller's and outlives the ranks. MPI has been initialised; its errors end the job.
std::unique_ptr<Ranks> ranks_over(MPI_Comm communicator);

}  // namespace mfl
