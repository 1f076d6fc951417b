#include "mfl/data/task.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "mfl/base/nearest.h"
#include "mfl/data/sources.h"
#include "mfl/data/text.h"

namespace mfl {
namespace {

constexpr std::array<std::string_view, 3> kTaskNames = {"even-odd", "raw", "multiclass"};
constexpr const char* kTasks = "tasks are: even-odd, raw, multiclass";

}  // namespace

LabelTask label_task(Task task, TargetKind kind) {
  if (kind == TargetKind::kNone) return LabelTask::kExternal;
  if (task == Task::kEvenOdd) return LabelTask::kEvenOdd;
  if (task == Task::kMulticlass || kind == TargetKind::kIndex) return LabelTask::kMulticlass;
  return kind == TargetKind::kReal ? LabelTask::kRegression : LabelTask::kBinary;
}

Result<std::vector<double>> make_targets(const Dataset& data, Task task, TargetKind kind) {
  Schema wanted;
  wanted.task = label_task(task, kind);
  MFL_CHECK(check_targets(wanted, kind, "the model"));
  MFL_TRY(const Schema seen, observe(data, wanted.task));
  MFL_TRY(Schema schema, settle(wanted, seen));
  MFL_TRY(schema, settle_alone(std::move(schema)));
  return make_targets(data, schema, kind);
}

Result<Task> parse_task(std::string_view name) {
  const auto* const found = std::ranges::find(kTaskNames, name);
  if (found != kTaskNames.end()) return static_cast<Task>(found - kTaskNames.begin());
  const std::string near = nearest(name, kTaskNames);
  return fail(ErrorCode::kBadConfig, fmt::format("unknown task {}", excerpt(name)),
              near.empty() ? kTasks : fmt::format("did you mean {}? {}", near, kTasks));
}

std::string_view task_name(Task task) { return kTaskNames[static_cast<std::size_t>(task)]; }

Task default_task(std::string_view spec, TargetKind kind) {
  if (kind == TargetKind::kIndex) return Task::kMulticlass;
  const SourceEntry* const source = find_source(spec);
  return source != nullptr && source->digits ? Task::kEvenOdd : Task::kRaw;
}

}  // namespace mfl
