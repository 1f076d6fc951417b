// What the columns and labels of a data set mean: the one description that a run, its server, its nodes and its model share.
//
//   Schema seen = *observe(data, LabelTask::kBinary);       // what this data has
//   Schema run = *settle(wanted, seen);                     // what the run says, completed by the data; or the difference
//   std::vector<double> y = *make_targets(data, run, TargetKind::kSigned);
//
// Plain values; a copy is as good as the original.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mfl/base/result.h"
#include "mfl/data/dataset.h"

namespace mfl {

enum class LabelTask {
  kUnknown,     // not said
  kBinary,      // every label is one of two classes
  kEvenOdd,     // labels are whole numbers from 0; the classes are "odd" and "even"
  kRegression,  // labels are numbers and the targets themselves
};

// "", "binary", "even-odd", "regression".
std::string_view label_task_name(LabelTask task);
std::optional<LabelTask> parse_label_task(std::string_view name);

// Every part may be left open: a run that is still to learn its schema has one with gaps.
struct Schema {
  std::uint64_t columns = 0;          // number of features; 0: open
  std::vector<std::string> features;  // their names in order; empty: open, or the columns have no names
  std::string features_digest;        // in place of names that are too long to send (shortened())
  std::string label;                  // name of the label column; empty: open, or it has none
  LabelTask task = LabelTask::kUnknown;
  std::vector<std::string>
      classes;           // in the order of class_before(), at most two; empty: open, or a regression
  std::string positive;  // one of the classes; empty: open

  bool operator==(const Schema&) const = default;
};

// Nothing that a target depends on is open.
bool is_complete(const Schema& schema);

// Numbers ascending, then texts ascending: of two classes the last one is positive unless something else is said.
bool class_before(std::string_view a, std::string_view b);

// The one way to write a class: a number in its shortest form ("1.0" is "1"), other text as it is.
std::string class_name(std::string_view text);

// The schema of a data set as far as the data shows it: `positive` stays open, and a site that has samples of one class shows
// one. kBadData, with file, line and column, for a label that the task has no place for: a third class, text where numbers
// are needed, a fraction under even-odd. kUnknown counts as kBinary.
Result<Schema> observe(const Dataset& data, LabelTask task);

// The first difference between what a run needs and what some data has, as a sentence without a full stop:
// `column 3 is "bmi" here and "age" in the run`. "Here" is the data. Nothing where the data fits: open parts fit
// everything, and one of the run's classes is enough.
std::optional<std::string> difference(const Schema& run, const Schema& data);

// `run` with its open parts taken from data that fits it. Of two classes without a positive one, the last is. The result may
// still be incomplete: data with samples of one class does not tell the other. kBadData with the difference where it does
// not fit, or where the positive class is none of the two.
Result<Schema> settle(const Schema& run, const Schema& data);

// Closes a schema whose data has one class, for a run that has no other data to learn from: 1 is positive; 0 and -1 are
// negative, against 1. For other classes that is kBadData and says what to do. Complete schemas stay as they are.
Result<Schema> settle_alone(Schema schema);

enum class TargetKind {
  kSigned,  // +1 / -1
  kUnit,    // 1 / 0
  kReal,    // the label itself; +1 / -1 where the task has classes
};

// One target per row, by the schema alone and not by which labels the data has. The schema is complete. A label outside of
// it is kBadData with file, line and column.
Result<std::vector<double>> make_targets(const Dataset& data, const Schema& schema, TargetKind kind);

// For people: `column "side": classes -1, 1; positive 1`, `a number`.
std::string labels_text(const Schema& schema);
// The same with the features: `30 features; classes ...`.
std::string schema_text(const Schema& schema);

// As JSON on one line, keys in fixed order; open parts are left out. Equal schemas have equal texts.
std::string schema_json(const Schema& schema);
// Takes any text. kBadData says what is wrong.
Result<Schema> parse_schema(std::string_view json);

// The schema itself, or, where its feature names have more than `most` bytes, one with their digest instead. It still differs
// from one with other names.
Schema shortened(Schema schema, std::size_t most);

}  // namespace mfl
