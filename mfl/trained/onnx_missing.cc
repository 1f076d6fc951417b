#include "mfl/trained/onnx.h"

namespace mfl {

bool has_onnx() { return false; }

Result<std::string> onnx_bytes(const TrainedModel& /*model*/) {
  return fail(ErrorCode::kBadConfig, "this build of mfl has no ONNX support",
              "install libonnx-dev and build again, or use --format npz");
}

}  // namespace mfl
