#include "mfl/trained/onnx.h"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

#include "mfl/base/json.h"
#include "mfl/base/version.h"
#include "mfl/data/text.h"

namespace mfl {
namespace {

using onnx::TensorProto;

constexpr std::int64_t kIrVersion = 8, kOpset = 13;
constexpr std::int64_t kAnyRows = -1;

// Whole numbers that an int64 holds, as class_name() writes them.
std::optional<std::vector<std::int64_t>> whole_numbers(const std::vector<std::string>& classes) {
  constexpr double kExact = 9007199254740992;  // 2^53
  std::vector<std::int64_t> out;
  for (const std::string& name : classes) {
    const auto number = parse_number(name);
    if (!number || !(std::abs(*number) <= kExact) || *number != std::floor(*number)) return std::nullopt;
    out.push_back(static_cast<std::int64_t>(*number));
  }
  return out;
}

// Adds nodes to a graph; every function returns the name of the value that it adds.
class Graph {
 public:
  explicit Graph(onnx::GraphProto& graph) : graph_(graph) {}

  std::string constant(const std::string& name, const std::vector<double>& numbers,
                       const std::vector<std::size_t>& shape) {
    TensorProto& tensor = add_tensor(name, TensorProto::DOUBLE, shape);
    for (const double number : numbers) tensor.add_double_data(number);
    return name;
  }
  std::string whole_number(const std::string& name, std::int64_t number) {
    add_tensor(name, TensorProto::INT64, {1}).add_int64_data(number);
    return name;
  }
  std::string lookup(const std::string& name, const std::vector<std::string>& classes) {
    const auto numbers = whole_numbers(classes);
    TensorProto& tensor =
        add_tensor(name, numbers ? TensorProto::INT64 : TensorProto::STRING, {classes.size()});
    for (std::size_t i = 0; i < classes.size(); ++i)
      if (numbers)
        tensor.add_int64_data((*numbers)[i]);
      else
        tensor.add_string_data(classes[i]);
    return name;
  }
  onnx::NodeProto& node(const std::string& kind, const std::vector<std::string>& inputs,
                        const std::string& output) {
    onnx::NodeProto& added = *graph_.add_node();
    added.set_op_type(kind);
    added.set_name(output);
    for (const std::string& input : inputs) added.add_input(input);
    added.add_output(output);
    return added;
  }
  std::string apply(const std::string& kind, const std::vector<std::string>& inputs,
                    const std::string& output) {
    node(kind, inputs, output);
    return output;
  }
  std::string with_number(const std::string& kind, const std::vector<std::string>& inputs,
                          const std::string& output, const std::string& attribute, std::int64_t value) {
    add_attribute(node(kind, inputs, output), attribute, value);
    return output;
  }
  static void add_attribute(onnx::NodeProto& to, const std::string& name, std::int64_t value) {
    onnx::AttributeProto& added = *to.add_attribute();
    added.set_name(name);
    added.set_type(onnx::AttributeProto::INT);
    added.set_i(value);
  }
  void input(const std::string& name, std::int64_t columns) {
    describe(*graph_.add_input(), name, TensorProto::DOUBLE, {kAnyRows, columns});
  }
  void output(const std::string& name, int type, const std::vector<std::int64_t>& shape) {
    describe(*graph_.add_output(), name, type, shape);
  }

 private:
  TensorProto& add_tensor(const std::string& name, int type, const std::vector<std::size_t>& shape) {
    TensorProto& tensor = *graph_.add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(type);
    for (const std::size_t side : shape) tensor.add_dims(static_cast<std::int64_t>(side));
    return tensor;
  }
  static void describe(onnx::ValueInfoProto& value, const std::string& name, int type,
                       const std::vector<std::int64_t>& shape) {
    value.set_name(name);
    auto& tensor = *value.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(type);
    for (const std::int64_t side : shape) {
      auto& added = *tensor.mutable_shape()->add_dim();
      if (side == kAnyRows)
        added.set_dim_param("N");
      else
        added.set_dim_value(side);
    }
  }

  onnx::GraphProto& graph_;
};

std::string prepared_features(const TrainedModel& model, Graph& graph) {
  const std::size_t columns = model.schema.columns;
  graph.input("features", static_cast<std::int64_t>(columns));
  std::string at = "features";
  if (const double scale = model.scale.value_or(1); scale != 1)
    at = graph.apply("Mul", {at, graph.constant("scale", {scale}, {1})}, "scaled");
  const Preprocessing& done = model.schema.preprocessing;
  if (!done.means.empty())
    at = graph.apply("Sub", {at, graph.constant("means", done.means, {columns})}, "centred");
  if (!done.deviations.empty())
    at = graph.apply("Div", {at, graph.constant("deviations", done.deviations, {columns})}, "standardised");
  return at;
}

// [N, outputs]
std::string scores_of(const TrainedModel& model, const std::string& features, std::size_t outputs,
                      Graph& graph) {
  const std::string weights =
      graph.constant("weights", tensor_values(model, "weights"), {model.schema.columns, outputs});
  const bool intercept = has_tensor(model, "intercept");
  const std::string product =
      graph.apply("MatMul", {features, weights}, intercept ? "weighted" : "raw_scores");
  if (!intercept) return product;
  return graph.apply("Add",
                     {product, graph.constant("intercept", tensor_values(model, "intercept"), {outputs})},
                     "raw_scores");
}

// [N, 1] as [N].
std::string as_vector(const std::string& column, const std::string& name, Graph& graph) {
  return graph.apply("Reshape", {column, graph.whole_number("any_length", -1)}, name);
}

void add_regression(const std::string& scores, Graph& graph) {
  as_vector(scores, "prediction", graph);
  graph.output("prediction", TensorProto::DOUBLE, {kAnyRows});
}

// `number` of a row is the position of its class in `classes`.
void add_label(const std::string& number, const std::vector<std::string>& classes, Graph& graph) {
  graph.apply("Gather", {graph.lookup("classes", classes), number}, "label");
  graph.output("label", whole_numbers(classes) ? TensorProto::INT64 : TensorProto::STRING, {kAnyRows});
}

// One margin, above zero for the positive class.
void add_two_classes(const TrainedModel& model, const std::string& margin, Graph& graph) {
  const auto& [first, last] = std::pair(model.schema.classes.front(), model.schema.classes.back());
  const bool last_is_positive = last == model.schema.positive;
  graph.apply("Greater", {margin, graph.constant("zero", {0}, {1})}, "is_positive");
  graph.with_number("Cast", {"is_positive"}, "positives", "to", TensorProto::INT64);
  add_label(as_vector("positives", "label_number", graph),
            last_is_positive ? std::vector{first, last} : std::vector{last, first}, graph);
  if (entry_of(model).link != Link::kSigmoid) {
    graph.apply("Identity", {margin}, "scores");
    return graph.output("scores", TensorProto::DOUBLE, {kAnyRows, 1});
  }
  const std::string positive = graph.apply("Sigmoid", {margin}, "probability_of_positive");
  const std::string negative =
      graph.apply("Sigmoid", {graph.apply("Neg", {margin}, "negated")}, "probability_of_negative");
  graph.with_number("Concat",
                    last_is_positive ? std::vector{negative, positive} : std::vector{positive, negative},
                    "probabilities", "axis", 1);
  graph.output("probabilities", TensorProto::DOUBLE, {kAnyRows, 2});
}

// One score for each class.
void add_many_classes(const TrainedModel& model, const std::string& scores, Graph& graph) {
  onnx::NodeProto& largest = graph.node("ArgMax", {scores}, "label_number");
  Graph::add_attribute(largest, "axis", 1);
  Graph::add_attribute(largest, "keepdims", 0);
  add_label("label_number", model.schema.classes, graph);
  graph.with_number("Softmax", {scores}, "probabilities", "axis", 1);
  graph.output("probabilities", TensorProto::DOUBLE,
               {kAnyRows, static_cast<std::int64_t>(model.schema.classes.size())});
}

void add_property(onnx::ModelProto& to, const std::string& key, const std::string& value) {
  onnx::StringStringEntryProto& property = *to.add_metadata_props();
  property.set_key(key);
  property.set_value(value);
}

void add_properties(const TrainedModel& model, onnx::ModelProto& to) {
  add_property(to, "model", model.model);
  add_property(to, "schema", schema_json(model.schema));
  add_property(to, "features", Json(model.schema.features).dump());
  add_property(to, "digest", model.digest);
  add_property(to, "run", model.run);
  add_property(to, "mfl_version", model.mfl_version);
}

}  // namespace

bool has_onnx() { return true; }

Result<std::string> onnx_bytes(const TrainedModel& model) {
  const ModelEntry& entry = entry_of(model);
  const bool regression = model.schema.task == LabelTask::kRegression;
  const bool softmax = entry.link == Link::kSoftmax;
  if (!entry.loss && !softmax)
    return fail(ErrorCode::kBadConfig, fmt::format("model {} has no ONNX form", model.model),
                "use --format npz");
  onnx::ModelProto out;
  out.set_ir_version(kIrVersion);
  out.set_producer_name("mfl");
  out.set_producer_version(std::string(version()));
  onnx::OperatorSetIdProto& operators = *out.add_opset_import();
  operators.set_domain("");
  operators.set_version(kOpset);
  add_properties(model, out);
  out.mutable_graph()->set_name("mfl_" + model.model);
  Graph graph(*out.mutable_graph());
  const std::size_t outputs = softmax ? model.schema.classes.size() : 1;
  const std::string scores = scores_of(model, prepared_features(model, graph), outputs, graph);
  if (regression)
    add_regression(scores, graph);
  else if (softmax)
    add_many_classes(model, scores, graph);
  else
    add_two_classes(model, scores, graph);
  return out.SerializeAsString();
}

}  // namespace mfl
