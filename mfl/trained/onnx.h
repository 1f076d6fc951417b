// Trained models as ONNX graphs, for other programs. Optional part: needs libonnx-dev.
#pragma once

#include <string>

#include "mfl/base/result.h"
#include "mfl/trained/trained_model.h"

namespace mfl {

// Whether this build can write them.
bool has_onnx();

// A graph of opset 13 from "features", float64 [N, columns] as data files have them, to
//   "label" [N], int64 where all classes are whole numbers and else strings, and "probabilities" [N, classes], or "scores" where the
//     model has no probabilities: [N, 1] for a margin, whose sign is the class;
//   "prediction" [N] for a regression.
// Scale and standardisation are part of the graph, and everything is computed in float64. kBadConfig for a model that is not linear in
// its weights, and where has_onnx() is false.
Result<std::string> onnx_bytes(const TrainedModel& model);

}  // namespace mfl
