// The model that a run starts from: [run] init.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "mfl/base/result.h"
#include "mfl/config/config.h"
#include "mfl/data/schema.h"
#include "mfl/engine/ranks.h"
#include "mfl/trained/trained_model.h"

namespace mfl {

// The model that config.run.init names: a run of the store, a model file, or the digest of a run's weights. Null if it is empty. Afterwards
// it is the digest, so that the configuration names what the numbers depend on. The first of several ranks reads, and all get the model.
Result<std::shared_ptr<const TrainedModel>> take_initial_model(Config& config,
                                                               const std::filesystem::path& store,
                                                               Ranks& ranks = alone());

// The configuration to load data with for a run that starts from this model: with the model's means and deviations in place of those of
// the data.
Config prepared_as(Config config, const TrainedModel& initial);

// `model` with the weights of `initial` to start from. kBadConfig that names the difference unless tensors, columns, classes and preprocessing are those of
// the run, and the scale, where both are known. Weights of f64 are rounded for a run in f32.
template <class T>
Result<std::shared_ptr<const Model<T>>> starting_from(const TrainedModel& initial, const Schema& schema,
                                                      std::optional<double> scale,
                                                      std::shared_ptr<const Model<T>> model);

}  // namespace mfl
