// Whether a model fits into memory, asked before its vectors are made.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mfl/base/result.h"
#include "mfl/experiment/experiment.h"

namespace mfl {

// Bytes that training takes at least, beside the data: the vectors of the State, of what comes in, and of each worker. Exact sums and
// what nodes keep come on top.
template <class T>
std::uint64_t memory_needed(const Experiment& experiment, std::size_t parameters);

// Bytes that this process may still get: of the machine's memory and swap, its control group and its limit on memory (ulimit -v).
std::uint64_t memory_left();

// kRunFailed, with both numbers, where the model cannot fit.
template <class T>
Result<void> require_memory(const Experiment& experiment, std::size_t parameters);

}  // namespace mfl
