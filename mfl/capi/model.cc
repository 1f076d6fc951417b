#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "mfl/base/files.h"
#include "mfl/base/kernels/kernels.h"
#include "mfl/capi/arrays.h"
#include "mfl/capi/boundary.h"
#include "mfl/capi/mfl.h"
#include "mfl/trained/exported.h"
#include "mfl/trained/predictor.h"

struct mfl_model {
  mfl::TrainedModel trained;
  std::optional<mfl::Predictor> predictor;  // of a model that mfl can predict with
  mfl::Vector<float> single;                // the weights, in the precision of the model
  mfl::Vector<double> twice;
};

namespace mfl::capi {
namespace {

Result<std::unique_ptr<mfl_model>> open_model(std::string_view what, std::string_view store) {
  MFL_TRY(TrainedModel trained,
          find_model(what, store.empty() ? default_store_path() : std::filesystem::path(store)));
  auto out = std::make_unique<mfl_model>(mfl_model{std::move(trained), std::nullopt, {}, {}});
  const TrainedModel& model = out->trained;
  if (!entry_of(model).external) {
    MFL_TRY(out->predictor, Predictor::make(model));
  }
  if (model.precision == Precision::kF32)
    out->single = weights_of<float>(model);
  else
    out->twice = weights_of<double>(model);
  return out;
}

Json model_json(const mfl_model& model) {
  Json out = to_json(model.trained);
  out["parameters"] = model.trained.weights.size();
  out["classes"] = model.predictor ? model.predictor->classes() : classes_of(model.trained);
  out["value_names"] = model.predictor ? Json(model.predictor->value_names()) : Json::array();
  return out;
}

template <class T>
mfl_array view_of(const Vector<T>& weights, std::int32_t type) {
  return {.type = type,
          .index_type = 0,
          .data = weights.data(),
          .rows = weights.size(),
          .columns = 1,
          .row_stride = sizeof(T),
          .column_stride = sizeof(T),
          .column_indices = nullptr,
          .row_starts = nullptr};
}

Result<void> check_length(std::string_view name, std::uint64_t given, std::uint64_t needed) {
  if (given == needed) return {};
  return fail(ErrorCode::kBadConfig,
              fmt::format("{} has room for {} numbers and needs {}", name, given, needed),
              "value_names and classes of mfl_model_json say how many each row has");
}

// Where the predictions of some rows go; null where nobody wants them.
struct Room {
  std::uint32_t* labels;
  double* values;
};

// A few hundred thousand numbers at a time, in whole blocks of the kernels.
std::size_t rows_at_a_time(std::size_t columns) {
  constexpr std::size_t kNumbers = std::size_t{1} << 18U;
  return std::max<std::size_t>(1, kNumbers / columns / kRowBlock) * kRowBlock;
}

Result<void> predict(const Predictor& predictor, const Dataset& data, const Room& room) {
  const std::size_t width = predictor.value_names().size(), most = rows_at_a_time(data.columns);
  std::vector<std::uint32_t> places;
  for (std::size_t at = 0; at < data.rows; at += most) {
    places.resize(std::min(most, data.rows - at));
    std::iota(places.begin(), places.end(), static_cast<std::uint32_t>(at));
    MFL_TRY(const Predictions said, predictor.predict(take_rows(data, places)));
    if (room.labels != nullptr) std::ranges::copy(said.labels, room.labels + at);
    if (room.values != nullptr) std::ranges::copy(said.values, room.values + at * width);
  }
  return {};
}

Result<void> predict(const mfl_model& model, const mfl_array& x, const Room& room, std::uint64_t label_count,
                     std::uint64_t value_count) {
  MFL_CHECK(require_own(model.trained, "a prediction"));
  const Predictor& predictor = *model.predictor;
  if (room.labels != nullptr && predictor.classes().empty())
    return fail(ErrorCode::kBadConfig, "labels: a regression has none", "ask for values");
  if (room.labels != nullptr) MFL_CHECK(check_length("labels", label_count, x.rows));
  if (room.values != nullptr)
    MFL_CHECK(check_length("values", value_count, x.rows * predictor.value_names().size()));
  MFL_TRY(Dataset data, rows_of(x, "x"));
  data.labels.resize(data.rows);
  return predict(predictor, data, room);
}

Result<void> export_model(const TrainedModel& model, const char* path, std::string_view format) {
  MFL_TRY(const std::string bytes, exported_model(model, format));
  MFL_CHECK(prepare_output(path));
  return write_file(path, bytes);
}

}  // namespace
}  // namespace mfl::capi

namespace capi = mfl::capi;
using mfl::Result;

extern "C" {

int32_t mfl_model_open(const char* what, const char* store, mfl_model** model, char** error) {
  return capi::guarded(error, [&]() -> Result<void> {
    MFL_CHECK(capi::require(model, "model"));
    *model = nullptr;
    MFL_CHECK(capi::require(what, "what"));
    MFL_TRY(auto opened, capi::open_model(what, capi::text_or_empty(store)));
    *model = opened.release();
    return {};
  });
}

void mfl_model_free(mfl_model* model) { delete model; }

int32_t mfl_model_json(const mfl_model* model, char** json, char** error) {
  return capi::guarded(error, [&]() -> Result<void> {
    MFL_CHECK(capi::require(json, "json"));
    *json = nullptr;
    MFL_CHECK(capi::require(model, "model"));
    return capi::give(capi::model_json(*model).dump(), json);
  });
}

int32_t mfl_model_weights(const mfl_model* model, mfl_array* weights, char** error) {
  return capi::guarded(error, [&]() -> Result<void> {
    MFL_CHECK(capi::require(model, "model"));
    MFL_CHECK(capi::require(weights, "weights"));
    const bool single = model->trained.precision == mfl::Precision::kF32;
    *weights = single ? capi::view_of(model->single, MFL_F32) : capi::view_of(model->twice, MFL_F64);
    return {};
  });
}

int32_t mfl_model_predict(const mfl_model* model, const mfl_array* x, uint32_t* labels, uint64_t label_count,
                          double* values, uint64_t value_count, char** error) {
  return capi::guarded(error, [&]() -> Result<void> {
    MFL_CHECK(capi::require(model, "model"));
    MFL_CHECK(capi::require(x, "x"));
    return capi::predict(*model, *x, {labels, values}, label_count, value_count);
  });
}

int32_t mfl_model_export(const mfl_model* model, const char* path, const char* format, char** error) {
  return capi::guarded(error, [&]() -> Result<void> {
    MFL_CHECK(capi::require(model, "model"));
    MFL_CHECK(capi::require(path, "path"));
    MFL_CHECK(capi::require(format, "format"));
    return capi::export_model(model->trained, path, format);
  });
}

}  // extern "C"
