#include "mfl/engine/mpi/mpi.h"

namespace mfl {

Result<std::unique_ptr<Ranks>> mpi_ranks() {
  return fail(ErrorCode::kBadConfig, "this build of mfl has no MPI support",
              "install libopenmpi-dev and rebuild mfl, or run it without mpirun and --engine mpi");
}

}  // namespace mfl
