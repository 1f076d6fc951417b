// The exact mean over processes.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <span>

#include "mfl/aggregate/exact_mean.h"

namespace mfl {

// As Ranks::mean. Every rank sums and rounds its share of the coordinates: it receives the others' digits for them in packed
// slices, one slice in transit while another is added; then each rank's rounded numbers are sent to all. Besides the sums it
// needs memory for two slices of all ranks, a few megabytes.
template <class T>
void mean_over_ranks(MPI_Comm communicator, const ExactMean& sum, std::uint64_t total_weight,
                     std::span<T> out);

}  // namespace mfl
