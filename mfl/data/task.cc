#include "mfl/data/task.h"

#include <fmt/core.h>

#include <array>
#include <utility>

#include "mfl/base/nearest.h"
#include "mfl/data/text.h"

namespace mfl {
namespace {

constexpr std::array<std::string_view, 2> kNames = {"even-odd", "raw"};

}  // namespace

LabelTask label_task(Task task, TargetKind kind) {
  if (task == Task::kEvenOdd) return LabelTask::kEvenOdd;
  return kind == TargetKind::kReal ? LabelTask::kRegression : LabelTask::kBinary;
}

Result<std::vector<double>> make_targets(const Dataset& data, Task task, TargetKind kind) {
  MFL_TRY(const Schema seen, observe(data, label_task(task, kind)));
  MFL_TRY(Schema schema, settle({}, seen));
  MFL_TRY(schema, settle_alone(std::move(schema)));
  return make_targets(data, schema, kind);
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
