#include "mfl/run/initial_model.h"

#include <fmt/core.h>

#include <algorithm>

#include "mfl/model/starting_model.h"
#include "mfl/model/tensors.h"
#include "mfl/trained/model_file.h"

namespace mfl {
namespace {

bool is_digest(std::string_view text) {
  constexpr std::size_t kDigits = 64;
  return text.size() == kDigits && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// Of a run that was resumed: its configuration has the digest alone.
Result<TrainedModel> model_of_digest(const std::filesystem::path& store, const std::string& digest) {
  MFL_TRY(const Store opened, Store::open(store, {.read_only = true}));
  MFL_TRY(const auto runs, opened.list({.status = RunStatus::kDone}));
  for (const RunRow& run : runs)
    if (run.summary && run.summary->digest == digest)
      if (auto model = model_of_run(opened, run.id)) return model;
  return fail(ErrorCode::kBadConfig,
              fmt::format("no run of store {} has the initial model {}", store.string(), digest),
              "start a new run with --init RUN or --init FILE");
}

tl::unexpected<Error> unfit(std::string what) {
  return fail(ErrorCode::kBadConfig, "the initial model does not fit this run: " + std::move(what),
              "start from a model of the same columns and classes, or leave init out");
}

std::string in_words(const Preprocessing& done) {
  return done.standardise == Standardise::kNone
             ? "not standardised"
             : fmt::format("standardised ({})", standardise_name(done.standardise));
}

Result<void> check_fit(const TrainedModel& initial, const Schema& schema, std::optional<double> scale,
                       std::span<const Tensor> tensors) {
  if (const auto differs = difference(schema, initial.schema)) return unfit(*differs);
  if (initial.schema.classes != schema.classes || initial.schema.positive != schema.positive)
    return unfit(fmt::format("it has {}, and the run {}", labels_text(initial.schema), labels_text(schema)));
  if (!std::ranges::equal(initial.tensors, tensors))
    return unfit(fmt::format("it has the tensors {}, and the run {}", tensors_text(initial.tensors),
                             tensors_text(tensors)));
  const Preprocessing &theirs = initial.schema.preprocessing, &ours = schema.preprocessing;
  if (theirs.standardise != ours.standardise)
    return unfit(
        fmt::format("its features are {}, and those of the run are {}", in_words(theirs), in_words(ours)));
  if (theirs.means != ours.means || theirs.deviations != ours.deviations)
    return unfit("its features are standardised with other means or deviations");
  if (initial.scale && scale && *initial.scale != *scale)
    return unfit(
        fmt::format("its features are scaled by {}, and those of the run by {}", *initial.scale, *scale));
  return {};
}

}  // namespace

Result<std::shared_ptr<const TrainedModel>> take_initial_model(Config& config,
                                                               const std::filesystem::path& store,
                                                               Ranks& ranks) {
  std::string& init = config.run.init;
  if (init.empty()) return nullptr;
  MFL_TRY(const std::string bytes, ranks.from_first([&]() -> Result<std::string> {
    auto found = is_digest(init) ? model_of_digest(store, init) : find_model(init, store);
    if (!found) return fail_because(found.error(), "cannot start from " + init);
    return model_file_bytes(*found);
  }));
  MFL_TRY(TrainedModel model, parse_model_file(bytes, init));
  init = model.digest;
  return std::make_shared<const TrainedModel>(std::move(model));
}

Config prepared_as(Config config, const TrainedModel& initial) {
  config.schema.preprocessing = initial.schema.preprocessing;
  config.schema.preprocessing.class_weights.clear();
  return config;
}

template <class T>
Result<std::shared_ptr<const Model<T>>> starting_from(const TrainedModel& initial, const Schema& schema,
                                                      std::optional<double> scale,
                                                      std::shared_ptr<const Model<T>> model) {
  MFL_CHECK(check_fit(initial, schema, scale, model->tensors()));
  return starting_from(std::move(model), weights_of<T>(initial));
}

template Result<std::shared_ptr<const Model<float>>> starting_from(const TrainedModel&, const Schema&,
                                                                   std::optional<double>,
                                                                   std::shared_ptr<const Model<float>>);
template Result<std::shared_ptr<const Model<double>>> starting_from(const TrainedModel&, const Schema&,
                                                                    std::optional<double>,
                                                                    std::shared_ptr<const Model<double>>);

}  // namespace mfl
