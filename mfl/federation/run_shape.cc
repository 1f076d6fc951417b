#include "mfl/federation/run_shape.h"

#include <fmt/format.h>

#include <utility>

#include "mfl/aggregate/exact_mean.h"
#include "mfl/model/tensors.h"

namespace mfl {

RunShape::RunShape(RunShapeOptions options) : options_(std::move(options)) { forget(); }

void RunShape::forget() {
  columns_ = options_.columns;
  columns_from_.clear();
  schema_ = options_.schema;
  schema_from_ = options_.schema_from;
}

Verdict RunShape::join(const std::string& node, const Joining& joining) {
  Verdict verdict = check(joining);
  if (!verdict.counts()) return verdict;
  Schema settled = schema_;
  if (joining.schema.task != LabelTask::kUnknown) verdict = check_schema(node, joining, settled);
  if (verdict.counts()) verdict = check_size(settled, joining.columns);
  if (!verdict.counts()) return verdict;
  if (settled != schema_) {
    schema_ = std::move(settled);
    schema_from_ = node;
  }
  if (columns_ == 0) {
    columns_ = joining.columns;
    columns_from_ = node;
  }
  return {};
}

Verdict RunShape::check(const Joining& joining) const {
  if (joining.config_digest != options_.config_digest)
    return {Reason::kConfig,
            fmt::format("the configuration is {}, the node follows {}", options_.config_digest.substr(0, 12),
                        joining.config_digest.substr(0, 12))};
  if (joining.bits != options_.bits)
    return {Reason::kShape, fmt::format("numbers have {} bits, the node's {}", options_.bits, joining.bits)};
  if (joining.weight == 0 || joining.weight > ExactMean::kMaxWeight)
    return {Reason::kWeight,
            fmt::format("{} samples: must be from 1 to {}", joining.weight, ExactMean::kMaxWeight)};
  if (options_.max_samples != 0 && joining.weight > options_.max_samples)
    return {Reason::kWeight, fmt::format("{} samples: max_samples of this server is {}", joining.weight,
                                         options_.max_samples)};
  if (joining.columns == 0) return {Reason::kShape, "0 features: must be at least 1"};
  if (joining.schema.task == LabelTask::kExternal) return check_tensors(joining);
  if (columns_ != 0 && joining.columns != columns_)
    return {Reason::kShape,
            fmt::format("samples have {} features in this run{}, the node's {}", columns_,
                        columns_from_.empty() ? "" : fmt::format(" since {} joined", columns_from_),
                        joining.columns)};
  return {};
}

// Tensors that are those of the run have been looked at.
Verdict RunShape::check_tensors(const Joining& joining) const {
  const std::string& text = joining.schema.tensors;
  if (schema_.task != LabelTask::kExternal)
    return {Reason::kSchema, "the model of this run is not trained by programs of its nodes"};
  if (text.size() > kMostMessageText)
    return {Reason::kShape,
            fmt::format("the tensors have {} bytes, more than {}", text.size(), kMostMessageText)};
  if (text == schema_.tensors && joining.columns == columns_) return {};
  const auto tensors = parse_tensors(text);
  if (!tensors) return {Reason::kShape, tensors.error().message};
  if (tensors_json(*tensors) != text)
    return {Reason::kShape, "the tensors are not written as mfl writes them"};
  std::uint64_t numbers = 0;
  for (const Tensor& tensor : *tensors) numbers += tensor.size();
  if (numbers != joining.columns)
    return {Reason::kShape, fmt::format("tensors of {} numbers, {} announced", numbers, joining.columns)};
  return {};  // check_schema() compares
}

Schema RunShape::whole_schema() const {
  Schema schema = schema_;
  schema.columns = columns_;
  return schema;
}

Verdict RunShape::check_size(Schema schema, std::uint64_t columns) const {
  schema.columns = columns;
  const std::uint64_t parameters =
      options_.parameters && columns <= options_.max_parameters ? options_.parameters(schema) : columns;
  if (parameters <= options_.max_parameters) return {};
  if (schema.task == LabelTask::kExternal)
    return {Reason::kShape, fmt::format("a model of {} numbers: at most {} (--max-model-mb)", parameters,
                                        options_.max_parameters)};
  return {Reason::kShape, fmt::format("{} features make a model of {} numbers: at most {}", columns,
                                      parameters, options_.max_parameters)};
}

Verdict RunShape::check_schema(const std::string& node, const Joining& joining, Schema& settled) const {
  Schema seen = joining.schema;
  seen.columns = joining.columns;
  auto found = settle(schema_, seen);
  if (!found)
    return {Reason::kSchema,
            fmt::format("the data of {} does not fit the run{}: {}", node,
                        schema_from_.empty() ? "" : fmt::format(", whose schema is from {}", schema_from_),
                        found.error().message)};
  if (seen.task == LabelTask::kMulticlass && schema_.classes.size() < 2)
    return {Reason::kSchema,
            fmt::format(
                "the task of {} is multiclass ({}), and one node cannot tell the run all its classes: name "
                "them in the server's experiment file, [schema] classes = [\"...\", \"...\"], or give the "
                "server test data that has them all",
                node, labels_text(seen))};
  if (!is_complete(*found))
    return {
        Reason::kSchema,
        fmt::format("{} has samples of one class only ({}), so the run cannot learn its two classes from it: "
                    "name them in the server's experiment file, [schema] classes = [\"...\", \"...\"]",
                    node, labels_text(seen))};
  settled = *std::move(found);
  return {};
}

}  // namespace mfl
