#include "mfl/load/problem_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "mfl/config/entries.h"
#include "mfl/data/source.h"
#include "mfl/data/text.h"
#include "mfl/load/config_partition.h"
#include "mfl/load/problem.h"

namespace mfl {
namespace {

// The number of each row's class in the schema.
std::vector<double> class_numbers(const Config& config, const Schema& schema,
                                  std::span<const double> targets) {
  std::vector<double> out(targets.begin(), targets.end());
  if (entry_of(config.model).targets == TargetKind::kIndex) return out;
  const bool positive_first = schema.classes.front() == schema.positive;
  for (double& y : out) y = (y > 0) != positive_first ? 1 : 0;
  return out;
}

// The rows stay where they are.
template <class T>
Result<Samples<T>> borrowed_samples(const Preprocessing& preprocessing, bool constant_column,
                                    const Dataset& data, std::span<const double> targets) {
  MFL_TRY(PreparedRows rows, PreparedRows::make(data, preprocessing, constant_column, precision_of<T>()));
  return Samples<T>(std::move(rows), targets);
}

template <class T>
Result<Samples<T>> own_samples(const Preprocessing& preprocessing, bool constant_column, Dataset data,
                               std::span<const double> targets) {
  MFL_TRY(data, preprocessed(std::move(data), preprocessing, constant_column));
  MFL_TRY(data, with_precision(std::move(data), precision_of<T>()));
  return Samples<T>(std::move(data), targets);
}

std::string feature_name(const Schema& schema, std::size_t column) {
  return column < schema.features.size() ? schema.features[column] : fmt::format("{}", column + 1);
}

}  // namespace

Result<Partition> who_holds_what(const Experiment& experiment, const Dataset& train) {
  if (experiment.centralised()) return contiguous(train.rows, 1);
  return make_partition(experiment.config.federation, train, experiment.config.run.seed);
}

Result<Schema> observed_schema(const Config& config, const Dataset& data) {
  MFL_TRY(Schema seen, observe(data, effective_label_task(config)));
  seen.own_data = has_own_data(config, data);
  return seen;
}

Measures measures_of(const Config& config, const Schema& schema) {
  const Preprocessing& known = schema.preprocessing;
  return {known.deviations.empty() ? config.model.standardise : Standardise::kNone,
          known.class_weights.empty() && config.model.balanced};
}

Result<ColumnSums> sums_of(const Config& config, const Schema& schema, const Dataset& rows) {
  const Measures measures = measures_of(config, schema);
  ColumnSums sums(rows.columns, measures.classes ? schema.classes.size() : 0);
  std::vector<double> numbers;
  if (measures.classes) {
    MFL_TRY(const auto targets, make_targets(rows, schema, entry_of(config.model).targets));
    numbers = class_numbers(config, schema, targets);
  }
  MFL_CHECK(sums.add(rows, numbers));
  return sums;
}

Result<std::vector<std::string>> take_measures(const Config& config, const ColumnSums& all, Schema& schema) {
  const Measures measures = measures_of(config, schema);
  std::vector<std::string> constant;
  if (measures.standardise != Standardise::kNone)
    for (const std::size_t column : all.measure(schema.preprocessing))
      constant.push_back(feature_name(schema, column));
  if (measures.classes) {
    MFL_TRY(schema.preprocessing.class_weights, all.balanced_weights());
  }
  return constant;
}

template <class T>
Result<Samples<T>> make_samples(const Config& config, const Schema& schema, const Model<T>& model,
                                OwnRows held, Use use) {
  auto& [data, targets] = held;
  const bool constant_column = model.constant_column();
  MFL_TRY(Samples<T> samples,
          is_borrowed(data)
              ? borrowed_samples<T>(schema.preprocessing, constant_column, data, targets)
              : own_samples<T>(schema.preprocessing, constant_column, std::move(data), targets));
  const std::vector<double>& of_class = schema.preprocessing.class_weights;
  if (use == Use::kTraining && !of_class.empty()) {
    std::vector<T> weights;
    for (const double number : class_numbers(config, schema, targets))
      weights.push_back(static_cast<T>(of_class[static_cast<std::size_t>(number)]));
    samples.weigh(std::move(weights));
  }
  return samples;
}

Result<Schema> schema_of(const Config& config, const Dataset& train) {
  const Schema stated = stated_schema(config);
  MFL_TRY(const Schema seen, observed_schema(config, train));
  auto settled = settle(stated, seen);
  if (!settled)
    return fail(
        settled.error().code, fmt::format("{}: {}", config.data.source, settled.error().message),
        settled.error().hint.empty() ? "change the data, or what [schema] says of it" : settled.error().hint);
  if (settled->task == LabelTask::kRegression && !stated.positive.empty())
    return fail(ErrorCode::kBadConfig,
                fmt::format("positive = {}: a regression has no classes", excerpt(stated.positive)),
                "leave positive out, or use another model than linear");
  auto closed = settle_alone(*std::move(settled));
  if (!closed)
    return fail(closed.error().code, fmt::format("{}: {}", config.data.source, closed.error().message),
                closed.error().hint);
  if (config.model.weighs_classes() && closed->task == LabelTask::kRegression)
    return fail(ErrorCode::kBadConfig, "class_weight: a regression has no classes", "leave class_weight out");
  if (const auto& weights = config.model.class_weights; !weights.empty()) {
    if (weights.size() != closed->classes.size())
      return fail(
          ErrorCode::kBadConfig,
          fmt::format("class_weight has {} numbers, and there are {} classes: {}", weights.size(),
                      closed->classes.size(), excerpt(fmt::format("{}", fmt::join(closed->classes, ", ")))),
          "give one number per class, in this order");
    closed->preprocessing.class_weights = weights;
  }
  closed->preprocessing.intercept = effective_intercept(config.model, closed->own_data.value_or(false));
  closed->preprocessing.standardise = config.model.standardise;
  return closed;
}

template Result<Samples<float>> make_samples(const Config&, const Schema&, const Model<float>&, OwnRows, Use);
template Result<Samples<double>> make_samples(const Config&, const Schema&, const Model<double>&, OwnRows,
                                              Use);

}  // namespace mfl
