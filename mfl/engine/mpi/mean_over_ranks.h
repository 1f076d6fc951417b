// The exact mean over processes.
#pragma once

#include <mpi.h>

#include <vector>

#include "mfl/aggregate/accumulator.h"

namespace mfl {

// As Ranks::finish. Every rank sums and rounds its share of the slices: it receives the others' sums of them,
// some in transit while others are added; then each rank's rounded numbers are sent to all. Besides the sums
// it needs memory for two messages of all ranks, a few megabytes.
template <class T>
void mean_over_ranks(MPI_Comm communicator, SlicedSums<T>& sums, std::vector<Vector<T>>& out);

}  // namespace mfl
