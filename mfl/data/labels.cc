// The labels of a data set: what they show of a schema, and the targets that a schema makes of them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "mfl/data/schema.h"
#include "mfl/data/schema_words.h"
#include "mfl/data/text.h"

namespace mfl {
namespace {

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
  return bad_label(data, label, fmt::format("is a third class beside {}", listed_in_quotes(classes)),
                   "this model has two classes: use --model softmax, which has any number, keep the samples "
                   "of two of them, or merge classes until there are two; --model linear fits labels that "
                   "are quantities");
}

Result<std::vector<std::string>> observed_pair(const Dataset& data) {
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

Result<std::vector<std::string>> observed_classes(const Dataset& data) {
  std::unordered_set<double> seen;
  std::set<std::string> names;
  if (data.origin) names.insert(data.origin->known_classes.begin(), data.origin->known_classes.end());
  for (const double label : data.labels) {
    if (!seen.insert(label).second) continue;
    names.insert(class_name(label_text(data, label)));
    if (names.size() > kMostClasses)
      return bad_label(
          data, label, fmt::format("is one class more than the {} that are supported", kMostClasses),
          "if the label column holds a quantity, fit it with --model linear; else name another label column "
          "with --label");
  }
  std::vector<std::string> classes(names.begin(), names.end());
  std::ranges::sort(classes, class_before);
  if (const auto fault = classes_fault(classes))
    return fail(ErrorCode::kBadData, fmt::format("{}: {}", label_place(data, data.labels.front()), *fault),
                "write shorter labels");
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

using TargetOfClass = std::map<std::string, double, std::less<>>;

TargetOfClass targets_of_classes(const Schema& schema, TargetKind kind) {
  TargetOfClass out;
  for (std::size_t i = 0; i < schema.classes.size(); ++i)
    out[schema.classes[i]] = kind == TargetKind::kIndex  ? static_cast<double>(i)
                             : kind == TargetKind::kUnit ? 0
                                                         : -1;
  if (kind != TargetKind::kIndex) out[schema.positive] = 1;
  return out;
}

tl::unexpected<Error> refuse_unknown_class(const Dataset& data, double label, const Schema& schema) {
  return bad_label(data, label, fmt::format("is not one of the classes {}", listed_in_quotes(schema.classes)),
                   schema.task == LabelTask::kMulticlass
                       ? "fix the label, or name every class of the training, the test and all nodes' data "
                         "in [schema] classes"
                       : "training, test and every node's data must have the same classes");
}

}  // namespace

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
  MFL_TRY(schema.classes, task == LabelTask::kEvenOdd      ? observed_parities(data)
                          : task == LabelTask::kMulticlass ? observed_classes(data)
                                                           : observed_pair(data));
  return schema;
}

Result<std::vector<double>> make_targets(const Dataset& data, const Schema& schema, TargetKind kind) {
  MFL_CHECK(check_targets(schema, kind, "the model"));
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
  if (kind == TargetKind::kIndex && schema.classes.size() < 2) return one_class(schema.classes);
  const TargetOfClass target_of = targets_of_classes(schema, kind);
  if (schema.task == LabelTask::kEvenOdd) {
    for (const double label : data.labels) {
      MFL_TRY(const std::string_view name, parity_class(data, label));
      const auto target = target_of.find(name);
      if (target == target_of.end()) return refuse_unknown_class(data, label, schema);
      targets.push_back(target->second);
    }
    return targets;
  }
  std::unordered_map<double, double> known;  // the target of a label
  for (const double label : data.labels) {
    auto found = known.find(label);
    if (found == known.end()) {
      const auto target = target_of.find(class_name(label_text(data, label)));
      if (target == target_of.end()) return refuse_unknown_class(data, label, schema);
      found = known.emplace(label, target->second).first;
    }
    targets.push_back(found->second);
  }
  return targets;
}

}  // namespace mfl
