// What the columns and labels of a data set mean: the one description that a run, its server, its nodes and
// its model share.
//
//   Schema seen = *observe(data, LabelTask::kBinary);       // what this data has
//   Schema run = *settle(wanted, seen);                     // the run's, completed by the data; or the difference
//   std::vector<double> y = *make_targets(data, run, TargetKind::kSigned);
//
// Plain values; a copy is as good as the original.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mfl/base/result.h"
#include "mfl/data/dataset.h"
#include "mfl/data/preprocessing.h"

namespace mfl {

enum class LabelTask {
  kUnknown,     // not said
  kBinary,      // every label is one of two classes
  kEvenOdd,     // labels are whole numbers from 0; the classes are "odd" and "even"
  kRegression,  // labels are numbers and the targets themselves
  kMulticlass,  // every label is one of two or more classes, none of them positive
  kExternal,    // labels are the business of trainers outside of mfl
};

// "", "binary", "even-odd", "regression", "multiclass", "external".
std::string_view label_task_name(LabelTask task);
std::optional<LabelTask> parse_label_task(std::string_view name);

// Every part may be left open: a run that is still to learn its schema has one with gaps.
struct Schema {
  std::uint64_t columns = 0;          // number of features; 0: open. Of an external task the numbers of w
  std::vector<std::string> features;  // their names in order; empty: open, or the columns have no names
  std::string features_digest;        // in place of names that are too long to send (shortened())
  std::string label;                  // name of the label column; empty: open, or it has none
  LabelTask task = LabelTask::kUnknown;
  // In the order of class_before() ("odd", "even" for kEvenOdd), but of an external task in the trainers'
  // own. At most two unless the task is multiclass or external. Empty: open, or a regression.
  std::vector<std::string> classes;
  std::string positive;  // one of the classes; empty: open, or the task is multiclass
  // The data is the user's own and not a set that mfl provides (is_own_data()): defaults depend on it.
  // Nothing: open. Not compared.
  std::optional<bool> own_data = {};
  Preprocessing preprocessing = {};  // that of a run, as far as it is measured; data has none
  // For an external task: names and shapes of the tensors of w, as JSON (mfl/model/tensors.h). Empty: open.
  std::string tensors = {};

  bool operator==(const Schema&) const = default;
};

// The most classes of a multiclass schema, and bytes of their names together. With them a schema fits one
// network message. Bytes of the names of features, each with 8 for its length, and of the tensors of an
// external model, in a message. Names that are more are sent as their digest (shortened()).
inline constexpr std::size_t kMostMessageText = std::size_t{192} << 10U;
inline constexpr std::size_t kMostClasses = 10'000;
inline constexpr std::size_t kMostClassBytes = std::size_t{128} << 10U;

// Nothing that a target depends on is open.
bool is_complete(const Schema& schema);

// Numbers ascending, then texts ascending: of two classes the last one is positive unless something else is
// said. A strict total order of all texts; NaN is a text, and texts of the same number are ordered as texts.
bool class_before(std::string_view a, std::string_view b);

// The one way to write a class: a number in its shortest form ("1.0" is "1"), other text as it is.
std::string class_name(std::string_view text);

// What is wrong with the classes of a multiclass schema, without a full stop: not in order, one twice, more
// than kMostClasses or kMostClassBytes. Their least number is not checked.
std::optional<std::string> classes_fault(std::span<const std::string> classes);

// The schema of a data set as far as the data shows it: `positive` stays open, and a site that has samples of
// one class shows one; multiclass data shows all classes that occur and those that its source is known to
// have (Origin::known_classes). kBadData, with file, line and column, for a label that the task has no place
// for: a third class of two, more than kMostClasses, text where numbers are needed, a fraction under
// even-odd. kUnknown counts as kBinary.
Result<Schema> observe(const Dataset& data, LabelTask task);

// The first difference between what a run needs and what some data has, as a sentence without a full stop:
// `column 3 is "bmi" here and "age" in the run`. "Here" is the data. Nothing where the data fits: open parts
// fit everything, and some of the run's classes are enough.
std::optional<std::string> difference(const Schema& run, const Schema& data);

// `run` with its open parts taken from data that fits it. Of two classes without a positive one, the last is.
// The result may still be incomplete: data with samples of one class does not tell the others. kBadData with
// the difference where it does not fit, where the positive class is none of the two, or where there is one
// and the task is multiclass.
Result<Schema> settle(const Schema& run, const Schema& data);

// For a run that has no other data to learn from: a schema whose data has one class is kBadData, which says
// what to do. Others stay as they are.
Result<Schema> settle_alone(Schema schema);

enum class TargetKind {
  kSigned,  // +1 / -1
  kUnit,    // 1 / 0
  kReal,    // the label itself; +1 / -1 where the task has classes
  kIndex,   // the position of the label's class in Schema::classes, from 0
  kNone,    // there are none: trainers outside of mfl have their own
};

// Whether what a schema states can be the targets of a model of this kind; open parts can. kBadConfig: many
// classes for a model of two or of numbers, more classes than the task has, a positive class among many, a
// regression for kIndex. `who` is the subject of the message: "model svm".
Result<void> check_targets(const Schema& schema, TargetKind kind, std::string_view who);

// One target per row, by the schema alone and not by which labels the data has. The schema is complete. A
// label outside of it is kBadData with file, line and column; a schema that check_targets() refuses is
// kBadConfig.
Result<std::vector<double>> make_targets(const Dataset& data, const Schema& schema, TargetKind kind);

// For people: `column "side": classes -1, 1; positive 1`, `classes 0, 1, 2, ... (10)`, `a number`.
std::string labels_text(const Schema& schema);
// labels_text() after the features: `30 features; classes ...`.
std::string schema_text(const Schema& schema);

// As JSON on one line, keys in fixed order; open parts are left out. Equal schemas have equal texts.
std::string schema_json(const Schema& schema);
// Takes any text. kBadData says what is wrong.
Result<Schema> parse_schema(std::string_view json);

// The schema itself, or, where its feature names have more than `most` bytes, one with their digest instead.
// It still differs from one with other names. Classes stay: targets depend on them.
Schema shortened(Schema schema, std::size_t most);

}  // namespace mfl
