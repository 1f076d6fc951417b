#include "mfl/engine/mpi/mpi.h"

namespace mfl {

Result<std::unique_ptr<Ranks>> mpi_ranks() {
  return fail(ErrorCode::kBadConfig, "the engine mpi is not in this mfl: it was built without MPI",
              "install libopenmpi-dev and build mfl again, or run without mpirun and --engine mpi");
}

}  // namespace mfl
