// Model files: NPZ archives, which numpy.load opens, with one array per tensor, the means and deviations of standardised features, and
// a member mfl.json with all else (docs/model-files.md).
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "mfl/base/result.h"
#include "mfl/trained/trained_model.h"

namespace mfl {

// The same model gives the same bytes.
Result<std::string> model_file_bytes(const TrainedModel& model);
// Takes any bytes; `path` is for messages. kBadData for what is cut short, altered, or no model file.
Result<TrainedModel> parse_model_file(std::string_view bytes, const std::filesystem::path& path);

// All or nothing.
Result<void> write_model_file(const std::filesystem::path& path, const TrainedModel& model);
Result<TrainedModel> read_model_file(const std::filesystem::path& path);

}  // namespace mfl
