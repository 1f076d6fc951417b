// Samples as they came: bytes stay bytes, sparse stays sparse.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "mfl/base/digest.h"
#include "mfl/base/result.h"
#include "mfl/base/vectors.h"
#include "mfl/data/borrowed_rows.h"

namespace mfl {

// Row-major, rows x columns.
template <class X>
struct DenseRows {
  std::vector<X> values;
};

// Compressed rows: row r holds entries starts[r] .. starts[r+1]; columns ascend inside a row.
template <class X>
struct SparseRows {
  std::vector<std::uint64_t> starts;
  std::vector<std::uint32_t> columns;
  std::vector<X> values;
};

using Features =
    std::variant<DenseRows<std::uint8_t>, DenseRows<float>, DenseRows<double>, SparseRows<float>,
                 SparseRows<double>, BorrowedRows<std::uint8_t>, BorrowedRows<float>, BorrowedRows<double>>;

// What a source says about its columns and labels beside their numbers.
struct Origin {
  std::vector<std::string> features;  // names in column order; empty: the columns have none
  std::string label;                  // name of the label column; empty: it has none
  // Labels that are text: label k means classes[k]; empty: labels are numbers.
  std::vector<std::string> classes;

  // Schema::own_data where the source states it; nothing: its kind decides (is_own_data()).
  std::optional<bool> own_data = {};

  // All classes that the labels can have, whether they occur or not, in the order of class_before(); empty:
  // not known.
  std::vector<std::string> known_classes;

  std::filesystem::path path;    // the file of the labels; empty: they are not from a file
  std::size_t label_column = 0;  // counted from 1; 0: the labels are not a column of a table
  // All columns of that table, also those that are neither features nor the label.
  std::size_t table_columns = 0;
  // The different texts of the column that names nodes, in the order of class_before(); empty: there is none.
  std::vector<std::string> groups = {};
  bool header_guessed = false;  // header = auto took the first line for column names
  std::vector<double> labels;   // the labels of the whole file, in its order; empty: lines are unknown
  std::vector<std::uint32_t> lines;
};

// The value of a feature is scale * stored number. `labels` are the classes or targets of the source,
// before a schema turns them into what a model trains on. Read-only once made, so safe to share.
struct Dataset {
  std::size_t rows = 0;
  std::size_t columns = 0;
  double scale = 1;
  Features features;
  std::vector<double> labels;
  std::shared_ptr<const Origin> origin = nullptr;  // null: nothing is known
  std::vector<std::uint32_t> groups = {};  // per row, a place in origin->groups; empty: there are none
};

bool is_sparse(const Dataset& data);
bool is_borrowed(const Dataset& data);

// Copies borrowed rows into rows that the result owns.
Dataset owned(Dataset data);

// std::visit for rows that are not borrowed; throws std::logic_error for those that are.
template <class Visitor, class AnyFeatures>
auto visit_owned(const Visitor& visitor, AnyFeatures& features) {
  using Returned = decltype(visitor(std::get<0>(features)));
  return std::visit(
      [&](auto& rows) -> Returned {
        if constexpr (requires { rows.row_stride; })
          throw std::logic_error("borrowed rows: call owned() first");
        else
          return visitor(rows);
      },
      features);
}

// The origin of labels without names and lines.
std::shared_ptr<const Origin> origin_at(const std::filesystem::path& path,
                                        std::vector<std::string> known_classes = {});

// "0" to "9".
std::vector<std::string> digit_classes();

// The text of a label as an error or a table shows it: its class, or the number in its shortest form.
std::string label_text(const Dataset& data, double label);

// Where in its file a label first occurs, as errors begin: "points.csv, line 3, column 2", or as much of it
// as is known.
std::string label_place(const Dataset& data, double label);

// A number in the shortest form that reads back to the same bits: "1", "-1", "0.5". Zero has no sign.
std::string number_label(double number);

// The rows named, in the order named, or their features alone. Borrowed rows stay borrowed.
Features take_features(const Dataset& data, std::span<const std::uint32_t> rows);
Dataset take_rows(const Dataset& data, std::span<const std::uint32_t> rows);

// All rows, row order[i] becoming row i. Dense rows move in place: no second copy of them is made. Borrowed
// rows stay where they are.
Dataset reordered(Dataset data, std::span<const std::uint32_t> order);

// Floating features converted to the precision of the run (bytes stay bytes). Moves when there is nothing to
// do, except that borrowed rows are copied.
// A number too large for it is kBadData.
Result<Dataset> with_precision(Dataset data, Precision precision);

// SHA-256 (hex) of shape, scale, features, labels and, where labels are text, the classes: two equal digests
// are the same data, whoever owns it.
std::string data_digest(const Dataset& data);

// Computes the digest of a set that is read in parts: begin with all its rows counted, add the features of
// its parts in order, and finish with all labels. A sparse set has one part.
class DatasetDigest {
 public:
  // `like` has the columns, the scale and the kind of features.
  void begin(std::size_t rows, const Dataset& like);
  void add(const Features& features);
  // `origin` of the set; may be null.
  std::string finish(std::span<const double> labels, const Origin* origin);

 private:
  Sha256 hash_;
};

}  // namespace mfl
