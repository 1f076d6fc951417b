// IDX, the format of MNIST (big-endian header, then bytes), plain or gzipped; detected from the
// contents.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "mfl/base/result.h"
#include "mfl/data/dataset.h"
#include "mfl/data/rows.h"
#include "mfl/data/text.h"

namespace mfl {

// Images: unsigned bytes of rank 2 or more, one row per image. Labels: unsigned bytes of rank 1, as many as
// images. The bytes stay bytes, with scale 1/255. A file whose length is not exactly what its header says is
// kBadData. `known_classes` as in Origin.
Result<Dataset> read_idx(const std::filesystem::path& images, const std::filesystem::path& labels,
                         std::vector<std::string> known_classes = {});
// Parses the contents of two files.
Result<Dataset> parse_idx(const FileBytes& images, const FileBytes& labels);

// Reads the images of plain files on demand; null where the images are packed.
Result<std::unique_ptr<RowSource>> open_idx_rows(const std::filesystem::path& images,
                                                 const std::filesystem::path& labels,
                                                 std::vector<std::string> known_classes = {});

}  // namespace mfl
