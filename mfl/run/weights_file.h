// The final weights of a run as a file (--weights-out), with the schema beside it: what the columns and the sign of a score mean.
#pragma once

#include <filesystem>
#include <span>

#include "mfl/base/result.h"
#include "mfl/data/schema.h"

namespace mfl {

// kBadConfig unless weights can be written to `path`, before anything is trained. Empty: there is no file.
Result<void> check_weights_out(const std::filesystem::path& path);

// FILE.npy and FILE.schema.json; a device or FIFO gets the weights alone.
template <class T>
Result<void> write_weights(const std::filesystem::path& path, std::span<const T> w, const Schema& schema);

}  // namespace mfl
