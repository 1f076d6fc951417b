#include "mfl/trained/trained_model.h"

#include <fmt/core.h>

#include <algorithm>

#include "mfl/base/digest.h"
#include "mfl/config/config.h"
#include "mfl/model/tensors.h"
#include "mfl/trained/model_file.h"

namespace mfl {
namespace {

constexpr std::string_view kIntercept = "intercept";

tl::unexpected<Error> unfit(std::string what) {
  return fail(ErrorCode::kBadData, std::move(what), "export the model again with mfl model export");
}

template <class T>
std::string digest_as(const TrainedModel& model) {
  return sha256_hex(number_bytes(weights_of<T>(model)));
}

std::size_t count_of(std::span<const Tensor> tensors) {
  std::size_t sum = 0;
  for (const Tensor& tensor : tensors) sum += tensor.size();
  return sum;
}

tl::unexpected<Error> without_model(const RunRow& run) {
  if (run.status == RunStatus::kDone)
    return fail(ErrorCode::kBadConfig, fmt::format("run {} was made before models were kept", run.id),
                "run it again");
  return fail(ErrorCode::kBadConfig,
              fmt::format("run {} has no model: it is {}", run.id, run_status_name(run.status)),
              is_unfinished(run) ? fmt::format("finish it with mfl run --resume {}", run.id)
                                 : "models are kept of runs that are done");
}

bool names_a_file(std::string_view what) {
  return what.ends_with(".npz") || what.ends_with(".onnx") || what.find('/') != std::string_view::npos;
}

}  // namespace

std::string digest_of_weights(const TrainedModel& model) {
  return model.precision == Precision::kF32 ? digest_as<float>(model) : digest_as<double>(model);
}

bool has_tensor(const TrainedModel& model, std::string_view name) {
  return std::ranges::any_of(model.tensors, [&](const Tensor& tensor) { return tensor.name == name; });
}

Json to_json(const TrainedModel& model) {
  return {{"model", model.model},
          {"precision", model.precision == Precision::kF32 ? "f32" : "f64"},
          {"tensors", Json::parse(tensors_json(model.tensors)).value()},
          {"schema", Json::parse(schema_json(model.schema)).value()},
          {"scale", model.scale},
          {"lambda", model.lambda},
          {"digest", model.digest},
          {"run", model.run},
          {"mfl_version", model.mfl_version}};
}

std::vector<double> tensor_values(const TrainedModel& model, std::string_view name) {
  auto at = model.weights.begin();
  for (const Tensor& tensor : model.tensors) {
    const auto end = at + static_cast<std::ptrdiff_t>(tensor.size());
    if (tensor.name == name) return {at, end};
    at = end;
  }
  return {};
}

const ModelEntry& entry_of(const TrainedModel& model) { return *models().find(model.model); }

template <class T>
std::shared_ptr<const Model<T>> make_model(const TrainedModel& model) {
  ModelShape shape{static_cast<std::size_t>(model.schema.columns), model.schema.classes.size(),
                   has_tensor(model, kIntercept)};
  if (!model.schema.tensors.empty())
    if (auto tensors = parse_tensors(model.schema.tensors)) shape.tensors = *std::move(tensors);
  return entry_of(model).make<T>(shape);
}

template <class T>
Vector<T> weights_of(const TrainedModel& model) {
  Vector<T> out(model.weights.size());
  std::ranges::transform(model.weights, out.begin(), [](double number) { return static_cast<T>(number); });
  return out;
}

Result<void> check_model(const TrainedModel& model) {
  if (models().find(model.model) == nullptr)
    return fail(ErrorCode::kBadData, fmt::format("this mfl has no model {}", excerpt(model.model)),
                "use the program that trained it");
  if (model.schema.columns == 0 || !is_complete(model.schema) || !is_measured(model.schema.preprocessing))
    return unfit("the schema of the model is not complete");
  // Before the model is made, which takes memory: that many columns need that many weights.
  if (count_of(model.tensors) != model.weights.size() || model.schema.columns > model.weights.size())
    return unfit(fmt::format("the model has {} weights and its tensors {}", model.weights.size(),
                             count_of(model.tensors)));
  const auto made = make_model<double>(model);
  if (!std::ranges::equal(made->tensors(), model.tensors))
    return unfit(fmt::format("a model {} of this schema has the tensors {}, and not {}", model.model,
                             tensors_text(made->tensors()), tensors_text(model.tensors)));
  if (digest_of_weights(model) != model.digest) return unfit("the weights do not match their digest");
  return {};
}

Result<void> require_own(const TrainedModel& model, std::string_view what) {
  if (!entry_of(model).external) return {};
  return fail(
      ErrorCode::kBadConfig,
      fmt::format("{} cannot use a model that a trainer has trained: mfl knows its weights alone", what),
      "write them with mfl model export --format safetensors, and load them into the trainer's model");
}

std::vector<std::string> classes_of(const TrainedModel& model) {
  return model.schema.task == LabelTask::kRegression ? std::vector<std::string>() : model.schema.classes;
}

Result<TrainedModel> model_of_run(const Store& store, std::string_view run) {
  MFL_TRY(const RunRow row, store.get(run));
  MFL_TRY(auto kept, store.model(row.id));
  if (!kept) return without_model(row);
  const auto read = [&]() -> Result<TrainedModel> {
    TrainedModel out;
    out.model = row.model;
    out.precision = row.precision == "f64" ? Precision::kF64 : Precision::kF32;
    MFL_TRY(out.schema, parse_schema(row.data_schema));
    MFL_TRY(out.tensors, parse_tensors(kept->tensors));
    out.weights = out.precision == Precision::kF64 ? numbers_in<double>(kept->weights)
                                                   : numbers_in<float>(kept->weights);
    if (out.schema.columns == 0) out.schema.columns = out.tensors.front().shape.front();
    out.scale = kept->scale;
    MFL_TRY(const Config config, parse_config(row.config, "run " + row.id));
    out.lambda = effective_lambda(config.model);
    out.digest = row.summary ? row.summary->digest : "";
    out.run = row.id;
    out.mfl_version = row.mfl_version;
    MFL_CHECK(check_model(out));
    return out;
  };
  auto model = read();
  if (!model) return fail_because(model.error(), fmt::format("cannot use the model of run {}", row.id));
  return model;
}

Result<TrainedModel> find_model(std::string_view what, const std::filesystem::path& store) {
  if (names_a_file(what)) return read_model_file(what);
  std::error_code unseen;
  const bool is_file = std::filesystem::is_regular_file(what, unseen);
  if (!std::filesystem::exists(store, unseen)) {
    if (is_file) return read_model_file(what);
    return fail(ErrorCode::kBadConfig, fmt::format("there is no run store at {}", store.string()),
                "mfl run creates one; --store or MFL_STORE names another");
  }
  MFL_TRY(const Store opened, Store::open(store, {.read_only = true}));
  if (const auto found = opened.get(what); !found && is_file) return read_model_file(what);
  return model_of_run(opened, what);
}

template std::shared_ptr<const Model<float>> make_model(const TrainedModel&);
template std::shared_ptr<const Model<double>> make_model(const TrainedModel&);
template Vector<float> weights_of(const TrainedModel&);
template Vector<double> weights_of(const TrainedModel&);

}  // namespace mfl
