// The part of an experiment's data that one of several processes loads.
#pragma once

#include <span>

#include "mfl/base/result.h"
#include "mfl/config/config.h"
#include "mfl/engine/ranks.h"
#include "mfl/load/problem.h"

namespace mfl {

// As load_problem, divided among the ranks: each gets the rows of its own nodes, assigned by sample count, and its row blocks of
// the test set. All ranks know the labels and the partition. The digests equal those of load_problem: the first rank reads all
// rows once to compute them, a few at a time. Either all ranks fail or none: also, with kBadData, when a rank has other data than the
// first one: shape, labels, names, partition, or any of the rows that it holds. Data in memory is for a process alone.
template <class T>
Result<Problem<T>> load_problem(const Config& config, Ranks& where, const TrainTest* memory = nullptr);

// Compares the digests of the data of a sweep, whose ranks load different settings: once per distinct [data], as its first setting
// takes it. Every rank reads that data once more; nothing is read where there is one. Collective. kBadData names a rank and the data.
Result<void> require_same_sources(std::span<const Config> configs, Ranks& ranks);

}  // namespace mfl
