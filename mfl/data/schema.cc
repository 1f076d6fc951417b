#include "mfl/data/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_set>
#include <utility>

#include "mfl/base/digest.h"
#include "mfl/base/json.h"
#include "mfl/data/schema_words.h"
#include "mfl/data/text.h"

namespace mfl {
namespace {

constexpr std::array<std::string_view, 6> kLabelTaskNames = {"",           "binary",     "even-odd",
                                                             "regression", "multiclass", "external"};

bool has_two_classes(LabelTask task) { return task == LabelTask::kBinary || task == LabelTask::kEvenOdd; }

std::string names_digest(const Schema& schema) {
  if (!schema.features_digest.empty()) return schema.features_digest;
  Sha256 digest;
  for (const std::string& name : schema.features) digest.update(std::uint64_t{name.size()}).update(name);
  return digest.finish_hex();
}

bool has_names(const Schema& schema) { return !schema.features.empty() || !schema.features_digest.empty(); }

std::optional<std::string> features_difference(const Schema& run, const Schema& data) {
  if (run.columns != 0 && data.columns != 0 && run.columns != data.columns)
    return fmt::format("there are {} features here and {} in the run", data.columns, run.columns);
  if (!has_names(run)) return std::nullopt;
  if (!has_names(data))
    return fmt::format(
        "the features have no names here and are named in the run{}",
        run.features.empty() ? "" : fmt::format(", starting with {}", in_quotes(run.features[0])));
  const std::size_t both = std::min(run.features.size(), data.features.size());
  for (std::size_t i = 0; i < both; ++i)
    if (run.features[i] != data.features[i])
      return fmt::format("column {} is {} here and {} in the run", i + 1, in_quotes(data.features[i]),
                         in_quotes(run.features[i]));
  if (names_digest(run) != names_digest(data))
    return "the features have other names or another order here than in the run";
  return std::nullopt;
}

// The first class of the data that the run does not have.
const std::string* first_unknown_class(const Schema& run, const Schema& data) {
  const std::unordered_set<std::string_view> known(run.classes.begin(), run.classes.end());
  const auto found =
      std::ranges::find_if(data.classes, [&](const std::string& name) { return !known.contains(name); });
  return found == data.classes.end() ? nullptr : &*found;
}

std::optional<std::string> classes_difference(const Schema& run, const Schema& data) {
  if (run.classes.size() > 2 && has_two_classes(data.task))
    return fmt::format("the task is {} here and the run has {} classes", label_task_name(data.task),
                       run.classes.size());
  const bool multiclass = run.task == LabelTask::kMulticlass || data.task == LabelTask::kMulticlass;
  if (const std::string* other = run.classes.size() >= 2 ? first_unknown_class(run, data) : nullptr)
    return multiclass || run.classes.size() > 2
               ? fmt::format("class {} is here and is none of {} in the run", in_quotes(*other),
                             listed_in_quotes(run.classes))
               : fmt::format("classes are {} here and {} in the run", listed_in_quotes(data.classes),
                             listed_in_quotes(run.classes));
  if (run.task == LabelTask::kRegression && !data.positive.empty())
    return fmt::format("the positive class is {} here and the run is a regression", in_quotes(data.positive));
  if (multiclass && !data.positive.empty())
    return fmt::format("the positive class is {} here and a multiclass run has none",
                       in_quotes(data.positive));
  if (!run.positive.empty() && !data.positive.empty() && run.positive != data.positive)
    return fmt::format("the positive class is {} here and {} in the run", in_quotes(data.positive),
                       in_quotes(run.positive));
  return std::nullopt;
}

// Describes the difference between two texts that differ.
std::string tensors_difference(const std::string& run, const std::string& data) {
  const auto ours = Json::parse(run), theirs = Json::parse(data);
  const std::size_t most =
      std::max(ours ? ours->elements().size() : 0, theirs ? theirs->elements().size() : 0);
  const auto tensor = [](const Result<Json>& list, std::size_t i) {
    if (!list || i >= list->elements().size()) return std::string("missing");
    const Json *name = list->elements()[i].find("name"), *shape = list->elements()[i].find("shape");
    return fmt::format("{} {}", name ? name->text() : "", shape ? shape->dump() : "");
  };
  std::size_t i = 0;
  while (i < most && tensor(ours, i) == tensor(theirs, i)) ++i;
  if (i == most) return "the tensors of the model are written in another way here than in the run";
  return fmt::format("tensor {} of the model is {} here and {} in the run", i + 1, shown(tensor(theirs, i)),
                     shown(tensor(ours, i)));
}

// Compares external tasks. The order of classes counts, because the outputs of a model have it.
std::optional<std::string> external_difference(const Schema& run, const Schema& data) {
  if (!run.tensors.empty() && run.tensors != data.tensors)
    return tensors_difference(run.tensors, data.tensors);
  if (!run.classes.empty() && run.classes != data.classes)
    return fmt::format("classes are {} here and {} in the run", listed_in_quotes(data.classes),
                       listed_in_quotes(run.classes));
  if (run.features != data.features && !run.features.empty()) return features_difference(run, data);
  return std::nullopt;
}

// `run` has the task external and fits.
Schema settle_external(Schema run, const Schema& data) {
  if (!run.tensors.empty()) return run;
  run.tensors = data.tensors;
  run.columns = data.columns;
  run.classes = data.classes;
  run.features = data.features;
  run.features_digest = data.features_digest;
  return run;
}

// `run` has the task multiclass and fits.
Result<Schema> settle_multiclass(Schema run, const Schema& data) {
  if (!run.positive.empty())
    return fail(
        ErrorCode::kBadData,
        fmt::format("positive is {}, and the task multiclass has no positive class", in_quotes(run.positive)),
        "leave positive out");
  if (run.classes.size() < 2) {
    run.classes = data.classes;
    std::ranges::sort(run.classes, class_before);
  }
  return run;
}

Result<void> read_text(const Json& object, std::string_view key, std::string& to) {
  const Json* found = object.find(key);
  if (found == nullptr) return {};
  if (!found->is_string()) return fail(ErrorCode::kBadData, fmt::format("{} is not a text", key));
  to = found->text();
  return {};
}

Result<void> read_texts(const Json& object, std::string_view key, std::vector<std::string>& to) {
  const Json* found = object.find(key);
  if (found == nullptr) return {};
  if (!found->is_array() || !std::ranges::all_of(found->elements(), &Json::is_string))
    return fail(ErrorCode::kBadData, fmt::format("{} is not a list of texts", key));
  for (const Json& one : found->elements()) to.emplace_back(one.text());
  return {};
}

Result<void> read_flag(const Json& object, std::string_view key, std::optional<bool>& to) {
  const Json* found = object.find(key);
  if (found == nullptr) return {};
  const std::string text = found->dump();
  if (text != "true" && text != "false")
    return fail(ErrorCode::kBadData, fmt::format("{} is neither true nor false", key));
  to = text == "true";
  return {};
}

Result<void> read_numbers(const Json& object, std::string_view key, std::uint64_t count,
                          std::vector<double>& to) {
  const Json* found = object.find(key);
  if (found == nullptr) return {};
  for (const Json& one : found->elements())
    if (const auto number = parse_number(one.dump()); number && std::isfinite(*number)) to.push_back(*number);
  if (!found->is_array() || to.size() != found->elements().size() || to.size() != count)
    return fail(ErrorCode::kBadData, fmt::format("{} is not a list of {} numbers", key, count));
  return {};
}

Result<void> read_preprocessing(const Json& json, const Schema& schema, Preprocessing& to) {
  const Json* found = json.find("preprocessing");
  if (found == nullptr) return {};
  if (!found->is_object()) return fail(ErrorCode::kBadData, "preprocessing is not a JSON object");
  std::optional<bool> intercept;
  std::string standardise;
  MFL_CHECK(read_flag(*found, "intercept", intercept));
  MFL_CHECK(read_text(*found, "standardise", standardise));
  const auto known = parse_standardise(standardise);
  if (!known) return fail(ErrorCode::kBadData, fmt::format("unknown standardise {}", in_quotes(standardise)));
  to.intercept = intercept.value_or(false);
  to.standardise = *known;
  MFL_CHECK(read_numbers(*found, "means", schema.columns, to.means));
  MFL_CHECK(read_numbers(*found, "deviations", schema.columns, to.deviations));
  MFL_CHECK(read_numbers(*found, "class_weights", schema.classes.size(), to.class_weights));
  if (!std::ranges::all_of(to.deviations, [](double x) { return x > 0; }))
    return fail(ErrorCode::kBadData, "a deviation is not above 0");
  if (to.means.empty() == (to.standardise == Standardise::kFull && !to.deviations.empty()))
    return fail(ErrorCode::kBadData, "means are there without standardise = full, or missing with it");
  return {};
}

// As a schema of more than two classes has them.
Result<void> check_classes(const Schema& schema) {
  const bool multiclass = schema.task == LabelTask::kMulticlass;
  if (schema.task == LabelTask::kExternal || (!multiclass && schema.classes.size() <= 2)) return {};
  if (!multiclass && schema.task != LabelTask::kUnknown)
    return fail(ErrorCode::kBadData, fmt::format("{} classes for the task {}", schema.classes.size(),
                                                 label_task_name(schema.task)));
  if (const auto fault = classes_fault(schema.classes)) return fail(ErrorCode::kBadData, *fault);
  if (multiclass && !schema.positive.empty())
    return fail(ErrorCode::kBadData, "a positive class for the task multiclass");
  return {};
}

}  // namespace

std::string_view label_task_name(LabelTask task) { return kLabelTaskNames[static_cast<std::size_t>(task)]; }

std::optional<LabelTask> parse_label_task(std::string_view name) {
  const auto found = std::ranges::find(kLabelTaskNames, name);
  if (found == kLabelTaskNames.end()) return std::nullopt;
  return static_cast<LabelTask>(found - kLabelTaskNames.begin());
}

bool is_complete(const Schema& schema) {
  if (schema.columns == 0 || schema.task == LabelTask::kUnknown) return false;
  if (schema.task == LabelTask::kRegression) return true;
  if (schema.task == LabelTask::kExternal) return !schema.tensors.empty();
  if (schema.task == LabelTask::kMulticlass) return schema.classes.size() >= 2;
  return schema.classes.size() == 2 && !schema.positive.empty();
}

bool class_before(std::string_view a, std::string_view b) {
  const auto number = [](std::string_view text) {
    const auto parsed = parse_number(text);
    return parsed && !std::isnan(*parsed) ? parsed : std::nullopt;
  };
  const auto x = number(a), y = number(b);
  if (x && y && *x != *y) return *x < *y;
  return x.has_value() == y.has_value() ? a < b : x.has_value();
}

std::string class_name(std::string_view text) {
  const auto number = parse_number(text);
  return number && std::isfinite(*number) ? number_label(*number) : std::string(text);
}

std::optional<std::string> classes_fault(std::span<const std::string> classes) {
  if (classes.size() > kMostClasses)
    return fmt::format("{} classes are more than {}", classes.size(), kMostClasses);
  std::size_t bytes = 0;
  for (const std::string& name : classes) bytes += name.size();
  if (bytes > kMostClassBytes)
    return fmt::format("the names of the classes have {} bytes, more than {}", bytes, kMostClassBytes);
  const auto found = std::ranges::adjacent_find(
      classes, [](const std::string& a, const std::string& b) { return !class_before(a, b); });
  if (found == classes.end()) return std::nullopt;
  return *found == *std::next(found)
             ? fmt::format("class {} occurs twice", in_quotes(*found))
             : fmt::format("class {} is before {}", in_quotes(*found), in_quotes(*std::next(found)));
}

Result<void> check_targets(const Schema& schema, TargetKind kind, std::string_view who) {
  if (kind == TargetKind::kNone) return {};
  const auto refuse = [&](std::string_view what, std::string_view advice) {
    return fail(ErrorCode::kBadConfig, fmt::format("{} {}", who, what), std::string(advice));
  };
  if (kind == TargetKind::kIndex && schema.task == LabelTask::kRegression)
    return refuse("is a classifier, and the task is regression", "use model linear, or the task multiclass");
  if (has_two_classes(schema.task) && schema.classes.size() > 2)
    return fail(ErrorCode::kBadConfig,
                fmt::format("the task {} has two classes, and classes names {}", label_task_name(schema.task),
                            schema.classes.size()),
                "name two classes, or use model softmax and the task multiclass");
  const std::string_view takes =
      kind == TargetKind::kReal ? "fits numbers or two classes" : "takes two classes";
  if (kind != TargetKind::kIndex && schema.task == LabelTask::kMulticlass)
    return refuse(fmt::format("{}, and the task is multiclass", takes),
                  "use model softmax, or leave the task out");
  if (kind != TargetKind::kIndex && schema.classes.size() > 2)
    return refuse(fmt::format("{}, and classes names {}", takes, schema.classes.size()),
                  "use model softmax, or name two classes");
  const bool multiclass = schema.task == LabelTask::kMulticlass ||
                          (schema.task == LabelTask::kUnknown && kind == TargetKind::kIndex);
  if (multiclass && !schema.positive.empty())
    return fail(ErrorCode::kBadConfig,
                fmt::format("positive is {}, and the task multiclass has no positive class",
                            in_quotes(schema.positive)),
                "leave positive out");
  return {};
}

std::optional<std::string> difference(const Schema& run, const Schema& data) {
  if (run.task != LabelTask::kUnknown && data.task != LabelTask::kUnknown && run.task != data.task)
    return fmt::format("the task is {} here and {} in the run", label_task_name(data.task),
                       label_task_name(run.task));
  if (!run.label.empty() && !data.label.empty() && run.label != data.label)
    return fmt::format("the label column is {} here and {} in the run", in_quotes(data.label),
                       in_quotes(run.label));
  if (run.task == LabelTask::kExternal) return external_difference(run, data);
  if (auto features = features_difference(run, data)) return features;
  return classes_difference(run, data);
}

Result<Schema> settle(const Schema& run, const Schema& data) {
  if (const auto found = difference(run, data)) return fail(ErrorCode::kBadData, *found);
  Schema out = run;
  if (out.task == LabelTask::kExternal) {
    if (out.label.empty()) out.label = data.label;
    return settle_external(std::move(out), data);
  }
  if (out.columns == 0) {
    out.columns = data.columns;
    out.features = data.features;
    out.features_digest = data.features_digest;
  }
  if (out.label.empty()) out.label = data.label;
  if (!out.own_data) out.own_data = data.own_data;
  if (out.task == LabelTask::kUnknown) out.task = data.task;
  if (out.task == LabelTask::kRegression) return out;
  if (out.task == LabelTask::kMulticlass) return settle_multiclass(std::move(out), data);
  if (out.task == LabelTask::kEvenOdd) out.classes = {kOdd, kEven};
  if (out.positive.empty()) out.positive = data.positive;
  if (out.classes.size() < 2) {
    out.classes = data.classes;
    // The positive class is known, so data that has the other one tells both.
    if (out.classes.size() == 1 && !out.positive.empty() && out.positive != out.classes.front())
      out.classes.push_back(out.positive);
    std::ranges::sort(out.classes, class_before);
  }
  if (out.classes.size() < 2) return out;
  if (out.positive.empty()) out.positive = out.task == LabelTask::kEvenOdd ? kEven : out.classes.back();
  if (std::ranges::count(out.classes, out.positive) == 0)
    return fail(ErrorCode::kBadData,
                fmt::format("the positive class {} is none of the classes {}", in_quotes(out.positive),
                            listed_in_quotes(out.classes)),
                "name one of them as positive");
  return out;
}

Result<Schema> settle_alone(Schema schema) {
  if (schema.task == LabelTask::kMulticlass && schema.classes.size() < 2) return one_class(schema.classes);
  if (schema.task == LabelTask::kExternal || schema.task == LabelTask::kRegression ||
      schema.classes.size() != 1)
    return schema;
  const std::string& only = schema.classes.front();
  return fail(
      ErrorCode::kBadData,
      fmt::format("all labels are {}: a classifier needs samples of two classes", in_quotes(only)),
      fmt::format("choose the label column with --label, add samples of the other class, or name both with "
                  "--schema-classes {},OTHER",
                  only));
}

std::string labels_text(const Schema& schema) {
  std::string out = schema.label.empty() ? "" : fmt::format("column {}: ", in_quotes(schema.label));
  if (schema.task == LabelTask::kUnknown) return out + "not known yet";
  if (schema.task == LabelTask::kRegression) return out + "a number";
  if (schema.task == LabelTask::kExternal && schema.classes.empty()) return out + "those of the trainers";
  if (schema.classes.empty())
    return out +
           (schema.task == LabelTask::kMulticlass ? "classes not known yet" : "two classes, not known yet");
  out += fmt::format("classes {}", listed(schema.classes));
  return schema.positive.empty() ? out : out + fmt::format("; positive {}", shown(schema.positive));
}

std::string schema_text(const Schema& schema) {
  if (schema.task == LabelTask::kExternal)
    return schema.tensors.empty()
               ? "model of the trainers, not known yet"
               : fmt::format("model of {} numbers; {}", schema.columns, labels_text(schema));
  if (schema.columns == 0) return "features not known yet; " + labels_text(schema);
  return fmt::format("{} features{}; {}", schema.columns, has_names(schema) ? "" : " without names",
                     labels_text(schema));
}

std::string schema_json(const Schema& schema) {
  Json out = Json::object();
  if (schema.columns != 0) out["columns"] = schema.columns;
  if (!schema.features.empty()) out["features"] = schema.features;
  if (!schema.features_digest.empty()) out["features_digest"] = schema.features_digest;
  if (!schema.label.empty()) out["label"] = schema.label;
  if (schema.task != LabelTask::kUnknown) out["task"] = label_task_name(schema.task);
  if (!schema.classes.empty()) out["classes"] = schema.classes;
  if (!schema.positive.empty()) out["positive"] = schema.positive;
  if (!schema.tensors.empty()) out["tensors"] = schema.tensors;
  if (schema.own_data) out["own_data"] = *schema.own_data;
  if (const Preprocessing& done = schema.preprocessing; done != Preprocessing{}) {
    Json& to = out["preprocessing"] = Json::object();
    to["intercept"] = done.intercept;
    to["standardise"] = standardise_name(done.standardise);
    if (!done.means.empty()) to["means"] = done.means;
    if (!done.deviations.empty()) to["deviations"] = done.deviations;
    if (!done.class_weights.empty()) to["class_weights"] = done.class_weights;
  }
  return out.dump();
}

Result<Schema> parse_schema(std::string_view json) {
  const auto read = Json::parse(json);
  if (!read || !read->is_object()) return fail(ErrorCode::kBadData, "the schema is not a JSON object");
  const Json& parsed = *read;
  Schema schema;
  if (const Json* columns = parsed.find("columns")) {
    const auto count = parse_count(columns->dump());
    if (!count) return fail(ErrorCode::kBadData, "columns is not a whole number from 0");
    schema.columns = *count;
  }
  MFL_CHECK(read_texts(parsed, "features", schema.features));
  MFL_CHECK(read_text(parsed, "features_digest", schema.features_digest));
  MFL_CHECK(read_text(parsed, "label", schema.label));
  std::string task;
  MFL_CHECK(read_text(parsed, "task", task));
  const auto known = parse_label_task(task);
  if (!known) return fail(ErrorCode::kBadData, fmt::format("unknown task {}", in_quotes(task)));
  schema.task = *known;
  MFL_CHECK(read_texts(parsed, "classes", schema.classes));
  MFL_CHECK(read_text(parsed, "positive", schema.positive));
  MFL_CHECK(read_text(parsed, "tensors", schema.tensors));
  if (schema.task != LabelTask::kExternal && !schema.features.empty() &&
      schema.features.size() != schema.columns)
    return fail(ErrorCode::kBadData,
                fmt::format("{} feature names for {} columns", schema.features.size(), schema.columns));
  MFL_CHECK(check_classes(schema));
  MFL_CHECK(read_flag(parsed, "own_data", schema.own_data));
  MFL_CHECK(read_preprocessing(parsed, schema, schema.preprocessing));
  return schema;
}

Schema shortened(Schema schema, std::size_t most) {
  std::size_t bytes = 0;
  for (const std::string& name : schema.features) bytes += name.size() + 8;
  if (bytes <= most) return schema;
  schema.features_digest = names_digest(schema);
  schema.features.clear();
  return schema;
}

}  // namespace mfl
