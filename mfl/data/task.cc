#include "mfl/data/task.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "mfl/base/nearest.h"
#include "mfl/data/text.h"

namespace mfl {
namespace {

constexpr std::array<std::string_view, 2> kNames = {"even-odd", "raw"};

double target(bool positive, TargetKind kind) {
  if (positive) return 1;
  return kind == TargetKind::kUnit ? 0 : -1;
}

bool is_class(double label) { return label >= 0 && std::trunc(label) == label; }

bool is_binary(double label) { return label == 1 || label == 0 || label == -1; }

Result<std::vector<double>> even_odd(const std::vector<double>& labels, TargetKind kind) {
  std::vector<double> targets;
  targets.reserve(labels.size());
  for (const double label : labels) {
    if (!is_class(label))
      return fail(
          ErrorCode::kBadData,
          fmt::format("row {}: label {} is outside the task even-odd, which needs whole numbers from 0",
                      targets.size(), label),
          std::all_of(labels.begin(), labels.end(), is_binary)
              ? "use the task raw"
              : "use the task raw with a model that fits real targets, or mend the labels");
    targets.push_back(target(std::fmod(label, 2) == 0, kind));
  }
  return targets;
}

Result<std::vector<double>> raw_classes(const std::vector<double>& labels, TargetKind kind) {
  std::vector<double> targets;
  targets.reserve(labels.size());
  double negative = 1;  // the label of the negative class, once one is seen
  for (const double label : labels) {
    if (label != 1 && negative == 1) negative = label;
    if (!is_binary(label) || (label != 1 && label != negative))
      return fail(ErrorCode::kBadData,
                  fmt::format("row {}: label {} is outside the task raw, which needs all labels in {{-1, 1}} "
                              "or all in {{0, 1}} here",
                              targets.size(), label),
                  std::all_of(labels.begin(), labels.end(), is_class)
                      ? "use the task even-odd, or the linear model"
                      : "use the linear model, or mend the labels");
    targets.push_back(target(label == 1, kind));
  }
  return targets;
}

}  // namespace

Result<std::vector<double>> make_targets(const Dataset& data, Task task, TargetKind kind) {
  if (task == Task::kEvenOdd) return even_odd(data.labels, kind);
  if (kind == TargetKind::kReal) return data.labels;
  return raw_classes(data.labels, kind);
}

Result<Task> parse_task(std::string_view name) {
  if (name == kNames[0]) return Task::kEvenOdd;
  if (name == kNames[1]) return Task::kRaw;
  const std::string near = nearest(name, kNames);
  return fail(ErrorCode::kBadConfig, fmt::format("unknown task {}", excerpt(name)),
              near.empty() ? "tasks are: even-odd, raw"
                           : fmt::format("did you mean {}? tasks are: even-odd, raw", near));
}

std::string_view task_name(Task task) { return task == Task::kEvenOdd ? kNames[0] : kNames[1]; }

Task default_task(std::string_view spec) {
  const std::string_view kind = spec.substr(0, spec.find(':'));
  const bool digits = kind == "mnist" || kind == "idx" || kind == "synthetic" || kind == "fleet";
  return digits ? Task::kEvenOdd : Task::kRaw;
}

}  // namespace mfl
