// Tasks as an experiment file names them.
#pragma once

#include <string_view>
#include <vector>

#include "mfl/base/result.h"
#include "mfl/data/dataset.h"
#include "mfl/data/schema.h"

namespace mfl {

enum class Task {
  kEvenOdd,     // labels are whole numbers >= 0; even is the positive class
  kRaw,         // labels are classes (two, or any number for kIndex), or, for kReal, the targets themselves
  kMulticlass,  // every distinct label is a class
};

// What a task means for a model with these targets. Whether the model can have it is check_targets()'s to
// say.
LabelTask label_task(Task task, TargetKind kind);

// The targets of a data set on its own: its own labels say what the classes are.
Result<std::vector<double>> make_targets(const Dataset& data, Task task, TargetKind kind);

// "even-odd", "raw", "multiclass". An unknown name is kBadConfig.
Result<Task> parse_task(std::string_view name);
std::string_view task_name(Task task);

// What a data spec means when nothing is said: multiclass for kIndex; else even-odd where its labels are
// digits, and raw for other sources.
Task default_task(std::string_view spec, TargetKind kind);

}  // namespace mfl
