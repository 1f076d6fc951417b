// A partition on disk: one NPY folder per node.
#pragma once

#include <filesystem>

#include "mfl/base/result.h"
#include "mfl/data/dataset.h"
#include "mfl/partition/partition.h"

namespace mfl {

// Writes out/node-0000/{x.npy,y.npy}, out/node-0001/..., with the raw labels, so that tasks still apply. All
// or nothing: written beside `out`, then renamed. `out` must not exist or be an empty folder, else
// kBadConfig; what cannot be written is kRunFailed. The folders tell whether the data is the user's own
// (Schema::own_data), so that nodes have the defaults of a simulation.
Result<void> split_to_folders(const Dataset& data, const Partition& partition,
                              const std::filesystem::path& out, bool own_data = true);

}  // namespace mfl
