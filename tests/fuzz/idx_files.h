// Shared by the targets of plain and of gzipped IDX files.
#pragma once

#include <string>
#include <string_view>

#include "mfl/base/result.h"
#include "mfl/data/dataset.h"

namespace mfl::fuzz {

Result<Dataset> parse_pair(std::string_view images, std::string_view labels);

// The set as plain files of rank 2 and 1.
std::string written_images(const Dataset& data);
std::string written_labels(const Dataset& data);

}  // namespace mfl::fuzz
