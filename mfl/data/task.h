// A task turns the labels of a source into what a model trains on.
#pragma once

#include <string_view>
#include <vector>

#include "mfl/base/result.h"
#include "mfl/data/dataset.h"

namespace mfl {

enum class Task {
  kEvenOdd,  // labels are whole numbers >= 0; even is the positive class
  kRaw,      // labels are the targets: all of {-1, +1}, or all of {0, 1}, or any number for kReal
};

enum class TargetKind {
  kSigned,  // +1 / -1
  kUnit,    // 1 / 0
  kReal,    // the label itself; even-odd gives +1 / -1
};

// A label outside the task is kBadData and names its row (from 0) and value.
Result<std::vector<double>> make_targets(const Dataset& data, Task task, TargetKind kind);

// "even-odd", "raw". An unknown name is kBadConfig.
Result<Task> parse_task(std::string_view name);
std::string_view task_name(Task task);

// What a data spec means when nothing is said: even-odd for mnist, idx, synthetic and fleet, else raw.
Task default_task(std::string_view spec);

}  // namespace mfl
