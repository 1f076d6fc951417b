#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "mfl/capi/arrays.h"
#include "mfl/capi/boundary.h"
#include "mfl/capi/mfl.h"
#include "mfl/config/config.h"
#include "mfl/config/entries.h"
#include "mfl/config/sweep_grid.h"
#include "mfl/data/schema.h"
#include "mfl/data/source.h"
#include "mfl/record/export.h"
#include "mfl/run/outcome_json.h"
#include "mfl/run/runner.h"
#include "mfl/run/sweep.h"

struct mfl_experiment {
  mfl::Config config;
  std::string source;  // data.source before there was data in memory
  std::optional<mfl::Dataset> train, test;
  std::shared_ptr<const mfl::Origin> names;  // null: none
  mfl_progress_callback progress = nullptr;
  mfl_warning_callback warning = nullptr;
  void* user = nullptr;
  std::atomic<bool> stop = false;
};

namespace mfl::capi {
namespace {

constexpr const char* kMemory = "memory";
constexpr std::uint64_t kCopyLimit = std::uint64_t{64} << 20U;

Result<void> set_part(mfl_experiment& experiment, std::int32_t part, const mfl_array* x, const mfl_array* y) {
  if (part != MFL_TRAIN && part != MFL_TEST)
    return fail(ErrorCode::kBadConfig, fmt::format("part {}: must be MFL_TRAIN or MFL_TEST", part));
  std::optional<Dataset>& place = part == MFL_TRAIN ? experiment.train : experiment.test;
  if (x == nullptr) {
    place.reset();
    if (part == MFL_TRAIN && experiment.config.data.source == kMemory)
      experiment.config.data.source = experiment.source;
    return {};
  }
  MFL_CHECK(require(y, "y"));
  MFL_TRY(Dataset data, rows_of(*x, "x"));
  MFL_TRY(data.labels, labels_of(*y, data.rows, "y"));
  place = std::move(data);
  if (part == MFL_TRAIN && experiment.config.data.source != kMemory)
    experiment.source = std::exchange(experiment.config.data.source, kMemory);
  return {};
}

Result<std::shared_ptr<const Origin>> parse_names(const char* json) {
  MFL_TRY(const Request request, Request::parse(json, "names", {"features", "label", "classes"}));
  Origin origin;
  MFL_TRY(origin.features, request.texts("features"));
  MFL_TRY(origin.label, request.text("label"));
  MFL_TRY(origin.classes, request.texts("classes"));
  std::vector<std::string> sorted = origin.classes;
  std::ranges::sort(sorted);
  if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end())
    return fail(ErrorCode::kBadConfig, fmt::format("names: the class {} is there twice", *twice));
  return std::make_shared<const Origin>(std::move(origin));
}

// Labels that are places in `classes`, as places in the same classes in the order of class_before(): what a reader of text would give.
Result<void> number_classes(const std::vector<std::string>& classes, const std::vector<std::string>& sorted,
                            std::vector<double>& labels) {
  std::vector<double> places;
  for (const std::string& name : classes)
    places.push_back(static_cast<double>(std::ranges::find(sorted, name) - sorted.begin()));
  for (std::size_t r = 0; r < labels.size(); ++r) {
    const double label = labels[r];
    if (!(label >= 0 && label < static_cast<double>(classes.size())) || label != std::floor(label))
      return fail(ErrorCode::kBadData,
                  fmt::format("y: row {} (from 0): {} is not the place of one of {} classes", r, label,
                              classes.size()),
                  "with classes, labels are whole numbers from 0");
    labels[r] = places[static_cast<std::size_t>(label)];
  }
  return {};
}

std::size_t bytes_of(const Dataset& data) {
  const std::size_t size = std::holds_alternative<BorrowedRows<std::uint8_t>>(data.features) ? 1
                           : std::holds_alternative<BorrowedRows<float>>(data.features)      ? sizeof(float)
                                                                                             : sizeof(double);
  return data.rows * data.columns * size;
}

// With its names; what is small is copied, which trains faster.
Result<Dataset> named(const mfl_experiment& experiment, const Dataset& data, std::uint64_t copy_limit) {
  Dataset out = is_borrowed(data) && bytes_of(data) <= copy_limit ? owned(data) : data;
  if (!experiment.names) return out;
  Origin origin = *experiment.names;
  if (!origin.features.empty() && origin.features.size() != data.columns)
    return fail(ErrorCode::kBadData,
                fmt::format("names: {} features for {} columns of x", origin.features.size(), data.columns),
                "give one name per column, or none");
  std::ranges::sort(origin.classes, class_before);
  if (!origin.classes.empty())
    MFL_CHECK(number_classes(experiment.names->classes, origin.classes, out.labels));
  out.origin = std::make_shared<const Origin>(std::move(origin));
  return out;
}

Result<std::optional<TrainTest>> data_in_memory(const mfl_experiment& experiment, std::uint64_t copy_limit) {
  if (!experiment.train && !experiment.test) return std::nullopt;
  if (!experiment.train)
    return fail(ErrorCode::kBadConfig, "there is test data in memory, and no training data",
                "give MFL_TRAIN too");
  TrainTest out;
  MFL_TRY(out.train, named(experiment, *experiment.train, copy_limit));
  if (experiment.test) {
    MFL_TRY(out.test, named(experiment, *experiment.test, copy_limit));
  }
  return out;
}

double or_nan(const std::optional<double>& loss) {
  return loss.value_or(std::numeric_limits<double>::quiet_NaN());
}

RunHooks hooks_of(mfl_experiment& experiment) {
  RunHooks hooks;
  hooks.stop = &experiment.stop;
  if (experiment.progress != nullptr)
    hooks.progress = [&experiment](const Progress& now) {
      const mfl_progress told{.step = now.step,
                              .steps = now.steps,
                              .round = now.round,
                              .settings = now.settings,
                              .settings_done = now.settings_done,
                              .train_loss = or_nan(now.losses.train_loss),
                              .seconds = now.wall_seconds,
                              .batch_loss = or_nan(now.losses.batch_loss),
                              .start_loss = or_nan(now.losses.start_loss)};
      if (experiment.progress(&told, experiment.user) != 0) experiment.stop = true;
    };
  if (experiment.warning != nullptr)
    hooks.warn = [&experiment](const RunWarning& warning) {
      experiment.warning(warning_json(warning).dump().c_str(), experiment.user);
    };
  return hooks;
}

// What run and sweep have in common: the options, with the data that they refer to.
struct Work {
  std::optional<TrainTest> memory;
  RunOptions options;
};

Result<void> fill(const mfl_experiment& experiment, const Request& request, Work& work) {
  MFL_TRY(const auto copy_limit, request.count("copy_limit"));
  MFL_TRY(work.memory, data_in_memory(experiment, copy_limit.value_or(kCopyLimit)));
  MFL_TRY(work.options.store, request.text("store"));
  MFL_TRY(work.options.reuse, request.flag("reuse"));
  if (work.memory) work.options.memory = &*work.memory;
  return {};
}

Result<void> check_single(const Config& config) {
  if (!is_cross_validation(config)) return {};
  return fail(ErrorCode::kBadConfig, "data.folds without data.fold stands for several runs",
              "set data.fold, or sweep over it");
}

Result<std::optional<TrainerSetup>> trainer_of(const mfl_experiment& experiment, const Request& request) {
  TrainerSetup setup;
  MFL_TRY(setup.spec, request.text("trainer"));
  if (setup.spec.empty()) return std::nullopt;
  if (experiment.train || experiment.test)
    return fail(ErrorCode::kBadConfig, "a trainer has its own data, and there is data in memory",
                "leave one of the two out");
  MFL_TRY(const auto processes, request.count("trainer_processes"));
  MFL_TRY(const auto deadline, request.number("trainer_deadline"));
  setup.processes = static_cast<unsigned>(std::min<std::uint64_t>(processes.value_or(1), kMostTrainers + 1));
  if (deadline) {
    if (!(*deadline >= 0.1 && *deadline <= 1e7))
      return fail(ErrorCode::kBadConfig,
                  fmt::format("trainer_deadline {}: from 0.1 to 1e7 seconds", *deadline));
    setup.deadline = std::chrono::milliseconds(std::llround(1000 * *deadline));
  }
  return setup;
}

Result<RunOutcome> run(mfl_experiment& experiment, const char* options) {
  MFL_TRY(const Request request, Request::parse(options, "options",
                                                {"store", "resume", "reuse", "monitor", "copy_limit",
                                                 "trainer", "trainer_processes", "trainer_deadline"}));
  Work work;
  MFL_TRY(work.options.resume_id, request.text("resume"));
  MFL_TRY(work.options.trainer, trainer_of(experiment, request));
  Config config = experiment.config;
  if (work.options.resume_id.empty()) {  // else the configuration of the store counts
    MFL_CHECK(validate(config));
    if (work.options.trainer && !entry_of(config.model).external)
      return fail(ErrorCode::kBadConfig,
                  fmt::format("the model is {}, and a trainer has its own", config.model.name),
                  "set model.name to external");
    if (work.options.trainer && config.data.source == DataConfig{}.source)
      config.data.source = kTrainerSource;
  }
  MFL_CHECK(check_single(config));
  MFL_CHECK(fill(experiment, request, work));
  MFL_TRY(work.options.monitor, request.flag("monitor"));
  experiment.stop = false;
  return run_experiment(config, work.options, hooks_of(experiment));
}

std::string value_text(const Json& value) {
  return value.is_string() ? std::string(value.text()) : value.dump();
}

Result<std::vector<Config>> settings_of(const Config& base, const char* grid) {
  MFL_TRY(const Request request, Request::parse(grid, "grid", {}));
  Sweep sweep{base, {}};
  for (const auto& [name, values] : request.members()) {
    if (!values.is_array() || values.elements().empty())
      return fail(ErrorCode::kBadConfig,
                  fmt::format("grid: {} must be an array of at least one value", name));
    const std::size_t dot = std::min(name.find('.'), name.size());
    MFL_TRY(const Key* key, find_key(name.substr(0, dot), name.substr(std::min(dot + 1, name.size()))));
    SweepAxis axis{key, {}};
    for (const Json& value : values.elements()) {
      Config ignored = base;
      axis.values.push_back(value_text(value));
      MFL_CHECK(set_key(ignored, name, axis.values.back()));
    }
    sweep.axes.push_back(std::move(axis));
  }
  MFL_TRY(std::vector<Config> configs, expand(sweep));
  name_group(sweep, configs);
  for (const Config& config : configs) MFL_CHECK(check_single(config));
  return configs;
}

Result<std::vector<RunOutcome>> sweep(mfl_experiment& experiment, const char* grid, const char* options) {
  MFL_TRY(const Request request, Request::parse(options, "options", {"store", "reuse", "copy_limit"}));
  MFL_TRY(const std::vector<Config> configs, settings_of(experiment.config, grid));
  Work work;
  MFL_CHECK(fill(experiment, request, work));
  experiment.stop = false;
  return run_sweep(configs, work.options, hooks_of(experiment));
}

}  // namespace
}  // namespace mfl::capi

namespace capi = mfl::capi;
using mfl::Result;

extern "C" {

int32_t mfl_experiment_new(const char* toml, mfl_experiment** experiment, char** error) {
  return capi::guarded(error, [&]() -> Result<void> {
    MFL_CHECK(capi::require(experiment, "experiment"));
    *experiment = nullptr;
    MFL_CHECK(capi::require(toml, "toml"));
    MFL_TRY(mfl::Config config, mfl::parse_config(toml, "toml"));
    auto made = std::make_unique<mfl_experiment>();
    made->config = std::move(config);
    *experiment = made.release();
    return {};
  });
}

void mfl_experiment_free(mfl_experiment* experiment) { delete experiment; }

int32_t mfl_experiment_set(mfl_experiment* experiment, const char* key, const char* text, char** error) {
  return capi::guarded(error, [&]() -> Result<void> {
    MFL_CHECK(capi::require(experiment, "experiment"));
    MFL_CHECK(capi::require(key, "key"));
    MFL_CHECK(capi::require(text, "text"));
    return mfl::set_key(experiment->config, key, text);
  });
}

int32_t mfl_experiment_config(const mfl_experiment* experiment, char** toml, char** error) {
  return capi::guarded(error, [&]() -> Result<void> {
    MFL_CHECK(capi::require(toml, "toml"));
    *toml = nullptr;
    MFL_CHECK(capi::require(experiment, "experiment"));
    return capi::give(mfl::to_toml(experiment->config), toml);
  });
}

int32_t mfl_experiment_data(mfl_experiment* experiment, int32_t part, const mfl_array* x, const mfl_array* y,
                            char** error) {
  return capi::guarded(error, [&]() -> Result<void> {
    MFL_CHECK(capi::require(experiment, "experiment"));
    return capi::set_part(*experiment, part, x, y);
  });
}

int32_t mfl_experiment_names(mfl_experiment* experiment, const char* json, char** error) {
  return capi::guarded(error, [&]() -> Result<void> {
    MFL_CHECK(capi::require(experiment, "experiment"));
    MFL_TRY(experiment->names, capi::parse_names(json));
    return {};
  });
}

int32_t mfl_experiment_hooks(mfl_experiment* experiment, mfl_progress_callback progress,
                             mfl_warning_callback warning, void* user, char** error) {
  return capi::guarded(error, [&]() -> Result<void> {
    MFL_CHECK(capi::require(experiment, "experiment"));
    experiment->progress = progress;
    experiment->warning = warning;
    experiment->user = user;
    return {};
  });
}

void mfl_experiment_stop(mfl_experiment* experiment) {
  if (experiment != nullptr) experiment->stop = true;
}

int32_t mfl_experiment_run(mfl_experiment* experiment, const char* options, char** result, char** error) {
  return capi::guarded(error, [&]() -> Result<void> {
    MFL_CHECK(capi::require(result, "result"));
    *result = nullptr;
    MFL_CHECK(capi::require(experiment, "experiment"));
    MFL_TRY(const mfl::RunOutcome outcome, capi::run(*experiment, options));
    return capi::give(mfl::outcome_json(outcome).dump(), result);
  });
}

int32_t mfl_experiment_sweep(mfl_experiment* experiment, const char* grid, const char* options, char** result,
                             char** error) {
  return capi::guarded(error, [&]() -> Result<void> {
    MFL_CHECK(capi::require(result, "result"));
    *result = nullptr;
    MFL_CHECK(capi::require(experiment, "experiment"));
    MFL_CHECK(capi::require(grid, "grid"));
    MFL_TRY(const auto outcomes, capi::sweep(*experiment, grid, options));
    mfl::Json runs = mfl::Json::array();
    for (const mfl::RunOutcome& outcome : outcomes) runs.push_back(mfl::outcome_json(outcome));
    return capi::give(runs.dump(), result);
  });
}

}  // extern "C"
