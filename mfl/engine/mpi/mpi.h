// MPI, an optional part: how a process started by mpirun or srun finds the others.
#pragma once

#include <memory>
#include <optional>

#include "mfl/base/result.h"
#include "mfl/engine/ranks.h"

namespace mfl {

// The rank of this process according to the environment variables of mpirun or srun; empty without them. Does not start MPI.
std::optional<unsigned> launched_rank();

// Joins the processes that were started together; a process started without mpirun is a group of one. Call at most once per
// process. Destroying the result ends MPI for this process, which is collective: all ranks must do so.
// kBadConfig if mfl was built without MPI.
Result<std::unique_ptr<Ranks>> mpi_ranks();

}  // namespace mfl
