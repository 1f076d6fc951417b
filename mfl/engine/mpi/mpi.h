// MPI, an optional part: how a process that mpirun or srun started finds its fellows.
#pragma once

#include <memory>
#include <optional>

#include "mfl/base/result.h"
#include "mfl/engine/ranks.h"

namespace mfl {

// The rank of this process, as mpirun or srun tells it in the environment; nothing without them. Costs nothing.
std::optional<unsigned> launched_rank();

// Joins the processes that were started together; one process started by hand is a group of one. Call at most once in
// a process. The last of the group's objects to go ends MPI for this process, in which all ranks must have part.
// kBadConfig where mfl was built without MPI.
Result<std::unique_ptr<Ranks>> mpi_ranks();

}  // namespace mfl
