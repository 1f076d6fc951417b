// The exact mean over processes.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <span>

#include "mfl/aggregate/exact_mean.h"

namespace mfl {

// As Ranks::mean. Every rank adds up and rounds its share of the coordinates: the others' digits for them come in slices,
// packed, the next slice on its way while one is added; then each rank's rounded numbers go to all. Beside the sums it
// needs memory for two slices of all ranks, some megabytes.
template <class T>
void mean_over_ranks(MPI_Comm communicator, const ExactMean& sum, std::uint64_t total_weight,
                     std::span<T> out);

}  // namespace mfl
