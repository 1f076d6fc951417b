#include "mfl/data/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "mfl/base/digest.h"
#include "mfl/base/json.h"
#include "mfl/data/text.h"

namespace mfl {
namespace {

constexpr std::array<std::string_view, 4> kTaskNames = {"", "binary", "even-odd", "regression"};
constexpr const char* kOdd = "odd";
constexpr const char* kEven = "even";

// For a message: on one line and not endless.
std::string shown(std::string_view text) {
  constexpr std::size_t kLongest = 40;
  const bool cut = text.size() > kLongest;
  if (cut) {
    std::size_t end = kLongest;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
    text = text.substr(0, end);
  }
  std::string out;
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    out += code < 0x20U || code == 0x7FU ? '?' : c;
  }
  return cut ? out + "..." : out;
}

std::string in_quotes(std::string_view text) { return fmt::format("\"{}\"", shown(text)); }

std::string listed(const std::vector<std::string>& names) {
  std::vector<std::string> out;
  for (const std::string& name : names) out.push_back(in_quotes(name));
  return fmt::format("{}", fmt::join(out, ", "));
}

bool is_whole(double label) { return label >= 0 && std::trunc(label) == label; }

std::string_view parity(double label) { return std::fmod(label, 2) == 0 ? kEven : kOdd; }

bool has_text_labels(const Dataset& data) { return data.origin && !data.origin->classes.empty(); }

tl::unexpected<Error> bad_label(const Dataset& data, double label, std::string_view what, std::string hint) {
  return fail(
      ErrorCode::kBadData,
      fmt::format("{}: label {} {}", label_place(data, label), in_quotes(label_text(data, label)), what),
      std::move(hint));
}

// The label must be a number.
Result<double> number_of(const Dataset& data, double label, std::string_view needed_by) {
  if (!has_text_labels(data)) return label;
  if (const auto number = parse_number(label_text(data, label))) return *number;
  return bad_label(data, label, fmt::format("is not a number, which {} needs", needed_by),
                   "fix the label, name another label column with --label, or train a classifier");
}

tl::unexpected<Error> third_class(const Dataset& data, double label,
                                  const std::vector<std::string>& classes) {
  return bad_label(
      data, label, fmt::format("is a third class beside {}", listed(classes)),
      "a classifier has two classes: keep the samples of two of them, or merge classes until there are two; "
      "--model linear fits labels that are quantities");
}

Result<std::vector<std::string>> observed_classes(const Dataset& data) {
  std::vector<double> seen;
  std::vector<std::string> classes;
  for (const double label : data.labels) {
    if (std::ranges::find(seen, label) != seen.end()) continue;
    if (seen.size() == 2) return third_class(data, label, classes);
    seen.push_back(label);
    classes.push_back(class_name(label_text(data, label)));
  }
  std::ranges::sort(classes, class_before);
  return classes;
}

Result<std::string_view> parity_class(const Dataset& data, double label) {
  MFL_TRY(const double number, number_of(data, label, "the task even-odd"));
  if (is_whole(number)) return parity(number);
  return bad_label(data, label, "is outside the task even-odd, which needs whole numbers from 0",
                   "leave the task out where the labels are two classes, or use --model linear where they "
                   "are quantities");
}

Result<std::vector<std::string>> observed_parities(const Dataset& data) {
  bool odd = false, even = false;
  for (const double label : data.labels) {
    MFL_TRY(const std::string_view found, parity_class(data, label));
    (found == kEven ? even : odd) = true;
  }
  std::vector<std::string> classes;
  if (odd) classes.emplace_back(kOdd);
  if (even) classes.emplace_back(kEven);
  return classes;
}

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

std::optional<std::string> classes_difference(const Schema& run, const Schema& data) {
  const auto known = [&](const std::string& name) { return std::ranges::count(run.classes, name) > 0; };
  if (run.classes.size() == 2 && !std::ranges::all_of(data.classes, known))
    return fmt::format("classes are {} here and {} in the run", listed(data.classes), listed(run.classes));
  if (run.task == LabelTask::kRegression && !data.positive.empty())
    return fmt::format("the positive class is {} here and the run is a regression", in_quotes(data.positive));
  if (!run.positive.empty() && !data.positive.empty() && run.positive != data.positive)
    return fmt::format("the positive class is {} here and {} in the run", in_quotes(data.positive),
                       in_quotes(run.positive));
  return std::nullopt;
}

// The target of every label that the data may have, by its class.
class ClassTargets {
 public:
  ClassTargets(const Schema& schema, TargetKind kind)
      : positive_(schema.positive), classes_(schema.classes), negative_(kind == TargetKind::kUnit ? 0 : -1) {}

  std::optional<double> of(std::string_view name) const {
    if (name == positive_) return 1;
    if (std::ranges::find(classes_, name) == classes_.end()) return std::nullopt;
    return negative_;
  }

 private:
  std::string positive_;
  std::vector<std::string> classes_;
  double negative_;
};

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

}  // namespace

std::string_view label_task_name(LabelTask task) { return kTaskNames[static_cast<std::size_t>(task)]; }

std::optional<LabelTask> parse_label_task(std::string_view name) {
  const auto found = std::ranges::find(kTaskNames, name);
  if (found == kTaskNames.end()) return std::nullopt;
  return static_cast<LabelTask>(found - kTaskNames.begin());
}

bool is_complete(const Schema& schema) {
  if (schema.columns == 0 || schema.task == LabelTask::kUnknown) return false;
  if (schema.task == LabelTask::kRegression) return true;
  return schema.classes.size() == 2 && !schema.positive.empty();
}

bool class_before(std::string_view a, std::string_view b) {
  const auto x = parse_number(a), y = parse_number(b);
  if (x && y) return *x < *y;
  return x || y ? x.has_value() : a < b;
}

std::string class_name(std::string_view text) {
  const auto number = parse_number(text);
  return number && std::isfinite(*number) ? number_label(*number) : std::string(text);
}

Result<Schema> observe(const Dataset& data, LabelTask task) {
  Schema schema;
  schema.columns = data.columns;
  if (data.origin) {
    schema.features = data.origin->features;
    schema.label = data.origin->label;
  }
  schema.task = task == LabelTask::kUnknown ? LabelTask::kBinary : task;
  if (task == LabelTask::kRegression) {
    if (has_text_labels(data))
      for (const double label : data.labels) MFL_CHECK(number_of(data, label, "a regression"));
    return schema;
  }
  MFL_TRY(schema.classes, task == LabelTask::kEvenOdd ? observed_parities(data) : observed_classes(data));
  return schema;
}

std::optional<std::string> difference(const Schema& run, const Schema& data) {
  if (run.task != LabelTask::kUnknown && data.task != LabelTask::kUnknown && run.task != data.task)
    return fmt::format("the task is {} here and {} in the run", label_task_name(data.task),
                       label_task_name(run.task));
  if (!run.label.empty() && !data.label.empty() && run.label != data.label)
    return fmt::format("the label column is {} here and {} in the run", in_quotes(data.label),
                       in_quotes(run.label));
  if (auto features = features_difference(run, data)) return features;
  return classes_difference(run, data);
}

Result<Schema> settle(const Schema& run, const Schema& data) {
  if (const auto found = difference(run, data)) return fail(ErrorCode::kBadData, *found);
  Schema out = run;
  if (out.columns == 0) {
    out.columns = data.columns;
    out.features = data.features;
    out.features_digest = data.features_digest;
  }
  if (out.label.empty()) out.label = data.label;
  if (out.task == LabelTask::kUnknown) out.task = data.task;
  if (out.task == LabelTask::kRegression) return out;
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
                            listed(out.classes)),
                "name one of them as positive");
  return out;
}

Result<Schema> settle_alone(Schema schema) {
  if (schema.task == LabelTask::kRegression || schema.classes.size() != 1) return schema;
  std::string& only = schema.classes.front();
  if (only == "0" || only == "-1") {
    schema.classes.emplace_back("1");
    schema.positive = "1";
  } else if (only == "1" || only == schema.positive) {
    schema.positive = only;
  } else {
    return fail(ErrorCode::kBadData,
                fmt::format("all labels are {}: a classifier needs samples of two classes", in_quotes(only)),
                "add samples of the other class, or say which class is positive with --positive");
  }
  return schema;
}

Result<std::vector<double>> make_targets(const Dataset& data, const Schema& schema, TargetKind kind) {
  std::vector<double> targets;
  targets.reserve(data.labels.size());
  if (schema.task == LabelTask::kRegression) {
    if (!has_text_labels(data)) return data.labels;
    for (const double label : data.labels) {
      MFL_TRY(const double number, number_of(data, label, "a regression"));
      targets.push_back(number);
    }
    return targets;
  }
  const ClassTargets classes(schema, kind);
  if (schema.task == LabelTask::kEvenOdd) {
    for (const double label : data.labels) {
      MFL_TRY(const std::string_view name, parity_class(data, label));
      targets.push_back(*classes.of(name));
    }
    return targets;
  }
  std::vector<std::pair<double, double>> known;  // a label and its target: of a class each
  for (const double label : data.labels) {
    auto found = std::ranges::find(known, label, &std::pair<double, double>::first);
    if (found == known.end()) {
      const auto target = classes.of(class_name(label_text(data, label)));
      if (!target)
        return bad_label(data, label, fmt::format("is none of the classes {}", listed(schema.classes)),
                         "training, test and every node's data must have the same classes");
      found = known.insert(known.end(), {label, *target});
    }
    targets.push_back(found->second);
  }
  return targets;
}

std::string labels_text(const Schema& schema) {
  std::string out = schema.label.empty() ? "" : fmt::format("column {}: ", in_quotes(schema.label));
  if (schema.task == LabelTask::kUnknown) return out + "not known yet";
  if (schema.task == LabelTask::kRegression) return out + "a number";
  if (schema.classes.empty()) return out + "two classes, not known yet";
  std::vector<std::string> names;
  for (const std::string& name : schema.classes) names.push_back(shown(name));
  out += fmt::format("classes {}", fmt::join(names, ", "));
  return schema.positive.empty() ? out : out + fmt::format("; positive {}", shown(schema.positive));
}

std::string schema_text(const Schema& schema) {
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
  if (!schema.features.empty() && schema.features.size() != schema.columns)
    return fail(ErrorCode::kBadData,
                fmt::format("{} feature names for {} columns", schema.features.size(), schema.columns));
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
