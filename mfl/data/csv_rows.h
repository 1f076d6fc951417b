// What the readers of CSV files share: text is cut into records, columns are found, and records become rows
// of numbers. Private to csv*.cc.
#pragma once

#include <cstddef>
#include <deque>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mfl/base/result.h"

namespace mfl {

using CsvFields = std::vector<std::string_view>;
using CsvNames = std::vector<std::string>;

enum class CsvFound {
  kRecord,
  kEnd,        // nothing but blank lines is left
  kNeedsText,  // the text ends inside a record, and more of it will come
};

// Cuts text, which may come in parts, into records: lines, unless line ends are inside quotes. Fields are
// trimmed and without their quotes.
class CsvRecords {
 public:
  // `path` must outlive the object.
  CsvRecords(char separator, const std::filesystem::path& path);

  char separator() const { return separator_; }
  const std::filesystem::path& path() const { return path_; }
  // Starts with what rest() was; nothing comes after it if it is the last text.
  void set_text(std::string_view text, bool last);
  std::string_view rest() const { return text_.substr(at_); }
  // Where the record cut last begins, from 1.
  std::size_t line() const { return record_line_; }
  // Where the next one does.
  std::size_t next_line() const { return line_; }

  // Fields are valid until the next call and as long as the text. Unless a record is found, nothing is
  // consumed.
  Result<CsvFound> next(CsvFields& fields);

  // The next line without its line end, for a reader that takes simple lines as they are; empty if the text
  // ends inside of it.
  std::string_view line_ahead() const;
  // Consumes it.
  void skip_line(std::string_view line);

 private:
  // The field at `at`, which moves behind it; kNeedsText if the text ends before.
  Result<CsvFound> plain(std::size_t& at, CsvFields& fields) const;
  Result<CsvFound> quoted(std::size_t& at, std::size_t& line, CsvFields& fields);

  char separator_;
  const std::filesystem::path& path_;
  std::string_view blanks_;        // blank characters inside a line
  std::string_view closing_;       // characters that may follow a closing quote
  std::string_view blank_or_end_;  // characters of blank lines
  std::string_view text_;
  bool last_ = true;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
  std::size_t record_line_ = 1;
  std::deque<std::string> unquoted_;  // the first used_ are fields of the record that was cut last
  std::size_t used_ = 0;
};

inline constexpr std::size_t kNoColumn = std::numeric_limits<std::size_t>::max();

// The columns of a file to read, counted from 0. The other columns may hold any text.
struct CsvColumns {
  std::size_t count = 0;              // all columns of the file
  std::vector<std::size_t> features;  // in the order in which they are given
  std::size_t label = kNoColumn;
};

// Reads records as rows.
class CsvRows {
 public:
  explicit CsvRows(const CsvColumns& columns);
  // The names of the file's columns, for messages, which say how to leave one out.
  void set_names(CsvNames names) { names_ = std::move(names); }

  // The next row: as many numbers as there are features, and the text of the label, valid as CsvFields are. A
  // ragged row, an empty field, or a feature that is not a finite number is kBadData.
  Result<CsvFound> next(CsvRecords& records, std::span<double> features, std::string_view& label);
  // Reads fields that have been cut already.
  Result<void> read(const CsvFields& fields, const CsvRecords& records, std::span<double> features,
                    std::string_view& label) const;

 private:
  bool read_simple(std::string_view line, char separator, std::span<double> features,
                   std::string_view& label) const;

  // For every column of the file its feature, or one of the constants of csv_rows.cc.
  std::vector<std::size_t> places_;
  tl::unexpected<Error> bad_feature(const CsvFields& fields, std::size_t column,
                                    const CsvRecords& records) const;

  CsvFields fields_;
  CsvNames names_;
};

// kBadData for a field that cannot be a feature or a label; `column` counts from 0. `names` are those of the
// columns, if known.
tl::unexpected<Error> bad_csv_field(std::string_view field, std::size_t column, std::size_t line,
                                    const std::filesystem::path& path, const CsvNames& names = {});

// Not empty and not a number.
bool is_csv_text(std::string_view field);

// As UTF-8.
CsvNames csv_names(const CsvFields& fields);

std::string_view without_byte_order_mark(std::string_view file);

// What to do about a line that is one field: names the separator that it seems to have.
std::string separator_hint(std::string_view line, char separator);

// What messages call a column, and what to do if there is no such column.
struct CsvRole {
  std::string_view noun, advice;
};
inline constexpr CsvRole kLabelRole = {"label column", "give its number, counted from 0, or \"last\""};
inline constexpr CsvRole kFeatureRole = {"feature column", "give its number, counted from 0"};
inline constexpr CsvRole kGroupRole = {"column of nodes", "give its number, counted from 0"};
inline constexpr CsvRole kIdentifierRole = {"column of identifiers", "give its number, counted from 0"};
inline constexpr CsvRole kDropRole = {"column to drop", "give its number, counted from 0"};

// A column by its number from 0, or by its name. `names` is empty if the file has no header. kBadConfig if
// there is no such column, or more than one.
Result<std::size_t> find_csv_column(const CsvRole& role, const std::string& text, const CsvNames& names,
                                    std::size_t count, const std::filesystem::path& path);

// "did you mean 'age'?", or `otherwise`. The same name but for upper and lower case is nearer than any other.
std::string nearest_column(const std::string& name, const CsvNames& names, std::string_view otherwise);

}  // namespace mfl
