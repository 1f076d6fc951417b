#include "mfl/trained/exported.h"

#include <fmt/core.h>

#include "mfl/data/safetensors.h"
#include "mfl/model/tensors.h"
#include "mfl/trained/model_file.h"
#include "mfl/trained/onnx.h"

namespace mfl {
namespace {

std::string safetensors_bytes(const TrainedModel& model) {
  const bool f32 = model.precision == Precision::kF32;
  std::vector<StoredTensor> entries;
  for (const Tensor& tensor : model.tensors)
    entries.push_back({tensor.name, f32 ? "F32" : "F64", tensor.shape});
  return safetensors_head(entries, f32 ? sizeof(float) : sizeof(double), to_json(model).dump()) +
         (f32 ? number_bytes(weights_of<float>(model)) : number_bytes(weights_of<double>(model)));
}

}  // namespace

Result<std::string> exported_model(const TrainedModel& model, std::string_view format) {
  if (format == "npz") return model_file_bytes(model);
  if (format == "safetensors") return safetensors_bytes(model);
  if (format != "onnx")
    return fail(ErrorCode::kBadConfig, fmt::format("format {}: must be npz, onnx or safetensors", format));
  MFL_CHECK(require_own(model, "ONNX"));
  return onnx_bytes(model);
}

}  // namespace mfl
