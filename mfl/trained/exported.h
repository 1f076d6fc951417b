// A trained model as a file for this program or others.
#pragma once

#include <string>
#include <string_view>

#include "mfl/base/result.h"
#include "mfl/trained/trained_model.h"

namespace mfl {

// The bytes of the model in the format "npz" (model_file.h), "onnx" (onnx.h) or "safetensors": the weights alone, with all else as JSON in the
// metadata, under "mfl". kBadConfig for another format, and for an external model as ONNX.
Result<std::string> exported_model(const TrainedModel& model, std::string_view format);

}  // namespace mfl
