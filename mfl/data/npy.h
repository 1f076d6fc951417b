// NPY arrays, as numpy.save writes them.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>

#include "mfl/base/result.h"
#include "mfl/data/dataset.h"
#include "mfl/data/rows.h"
#include "mfl/data/text.h"

namespace mfl {

// x: two dimensions, u1 (bytes stay bytes, scale 1/255), f4 or f8. y: one dimension, as long, any plain
// integer, boolean or floating type. Little-endian and C order only; versions 1.0 and 2.0. NaN, infinities, a
// file that is not exactly as long as its header says, or shapes that do not fit are kBadData.
Result<Dataset> read_npy(const std::filesystem::path& x, const std::filesystem::path& y);
// Parses the contents of two files.
Result<Dataset> parse_npy(const FileBytes& x, const FileBytes& y);

// Reads rows of x on demand and checks then whether they are finite. Without a `y` all labels are 0.
Result<std::unique_ptr<RowSource>> open_npy_rows(const std::filesystem::path& x,
                                                 const std::filesystem::path& y);

// All or nothing. Errors are kRunFailed.
Result<void> write_npy(const std::filesystem::path& path, std::span<const float> vector);
Result<void> write_npy(const std::filesystem::path& path, std::span<const double> vector);

// folder/x.npy in the stored element type (the scale is not written) and folder/y.npy as f8. A sparse set is
// written densely; above 4 GiB that is kBadData and nothing is written. The folder is created if necessary.
// `own_data`, if told, is written beside them, and is Origin::own_data of whoever reads them.
Result<void> write_npy_folder(const std::filesystem::path& folder, const Dataset& data,
                              std::optional<bool> own_data = std::nullopt);

}  // namespace mfl
