#include "mfl/network/served_schema.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "mfl/base/json.h"
#include "mfl/config/entries.h"
#include "mfl/federation/run_warnings.h"
#include "mfl/run/initial_model.h"

namespace mfl {
namespace {

Schema schema_of_experiment(const Experiment& experiment) {
  Schema schema = stated_schema(experiment.config);
  if (schema.task == LabelTask::kUnknown && experiment.model->targets == TargetKind::kIndex)
    schema.task = LabelTask::kMulticlass;
  if (experiment.external()) schema.task = LabelTask::kExternal;
  if (schema.task == LabelTask::kEvenOdd) schema.classes = {"odd", "even"};
  if (schema.task != LabelTask::kMulticlass && schema.classes.size() == 2 && schema.positive.empty())
    schema.positive = schema.classes.back();
  return schema;
}

// What the store says of the run's nodes, beside its schema.
void take_nodes(const Json& kept, CoordinatorOptions& out) {
  std::vector<std::string> names;
  if (const Json* measured = kept.find(kMeasuredBy))
    for (const Json& name : measured->elements()) names.emplace_back(name.text());
  if (!names.empty()) out.warnings.push_back(measured_text(names, out.nodes));
  const Json* const excluded = kept.find(kExcluded);
  if (excluded == nullptr) return;
  for (const auto& [node, why] : excluded->members()) {
    out.excluded.emplace(node, why.text());
    out.warnings.push_back(excluded_text(why.text()));
  }
}

Result<void> take_stored(const RunRow& run, CoordinatorOptions& out) {
  auto stored = parse_schema(run.data_schema);
  if (stored) stored = settle(out.schema, *stored);
  if (!stored)
    return fail_because(stored.error(),
                        fmt::format("cannot continue run {}: its schema does not fit", run.id));
  out.schema = *std::move(stored);
  out.schema_from = "the run's store";
  take_nodes(Json::parse(run.data_schema).value(), out);
  if (!out.schema.own_data)
    out.schema.own_data = false;  // a run of an earlier version, which measured nothing
  if (const PreparationNeeds needs = out.needs(out.schema); needs.any() && needs.initial_weights == 0) {
    out.schema.preprocessing = parse_schema(run.data_schema)->preprocessing;
    out.prepared = Prepared{out.schema.preprocessing, needs.step_size ? run.eta : 0};
    out.prepared_needs = needs;
  }
  return {};
}

}  // namespace

PreparationNeeds needs_of(const Experiment& experiment, const Schema& schema) {
  const Config& config = experiment.config;
  const bool own_data = schema.own_data.value_or(false);
  const bool known = !schema.preprocessing.deviations.empty();  // of an initial model
  const std::size_t number = config.run.precision == Precision::kF32 ? sizeof(float) : sizeof(double);
  return {.intercept = effective_intercept(config.model, own_data),
          .standardise = known ? Standardise::kNone : config.model.standardise,
          .class_weights = config.model.balanced,
          .step_size = measures_eta(config.algorithm, own_data),
          .known_means = known,
          .initial_weights = experiment.external() && config.run.init.empty() ? number : 0};
}

Result<void> take_schema(const Experiment& experiment, const HostOptions& options, const RunRow& run,
                         const TrainedModel* initial, CoordinatorOptions& out) {
  out.needs = [experiment](const Schema& schema) { return needs_of(experiment, schema); };
  out.schema = schema_of_experiment(experiment);
  if (options.columns != 0 && out.schema.columns != 0 && options.columns != out.schema.columns)
    return fail(ErrorCode::kBadConfig,
                fmt::format("--features says {} and [schema] {}", options.columns, out.schema.columns),
                "leave one of them out");
  if (options.columns != 0) out.schema.columns = options.columns;
  if (out.schema != Schema{}) out.schema_from = "the experiment file";
  if (initial != nullptr) {
    auto settled = settle(out.schema, initial->schema);
    if (!settled) return fail_because(settled.error(), "the initial model does not fit this run");
    out.schema = *std::move(settled);
    out.schema.preprocessing = prepared_as(experiment.config, *initial).schema.preprocessing;
    out.schema_from = "the initial model";
  }
  return run.data_schema.empty() ? Result<void>() : take_stored(run, out);
}

Result<void> take_test_schema(const Schema& test, const std::string& spec, CoordinatorOptions& out) {
  if (out.schema == test) return {};
  if (!is_complete(test))
    return fail(ErrorCode::kBadData,
                fmt::format("--test-data {}: samples of one class only do not tell the two classes", spec),
                "name them in [schema] classes of the experiment file");
  out.schema = test;
  out.schema_from = "--test-data";
  return {};
}

}  // namespace mfl
