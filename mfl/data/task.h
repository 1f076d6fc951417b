// Tasks as an experiment file names them.
#pragma once

#include <string_view>
#include <vector>

#include "mfl/base/result.h"
#include "mfl/data/dataset.h"
#include "mfl/data/schema.h"

namespace mfl {

enum class Task {
  kEvenOdd,  // labels are whole numbers >= 0; even is the positive class
  kRaw,      // labels are two classes, or, for kReal, the targets themselves
};

// What a task means for a model with these targets.
LabelTask label_task(Task task, TargetKind kind);

// The targets of a data set on its own: its own labels say what the classes are.
Result<std::vector<double>> make_targets(const Dataset& data, Task task, TargetKind kind);

// "even-odd", "raw". An unknown name is kBadConfig.
Result<Task> parse_task(std::string_view name);
std::string_view task_name(Task task);

// What a data spec means when nothing is said: even-odd for mnist, idx, synthetic and fleet, else raw.
Task default_task(std::string_view spec);

}  // namespace mfl
