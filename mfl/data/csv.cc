#include "mfl/data/csv.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <string_view>

#include "mfl/base/nearest.h"

namespace mfl {
namespace {

namespace fs = std::filesystem;

using Fields = std::vector<std::string_view>;

// Cuts the text into records. The fields of a record stay valid as long as the cutter and its text.
class Records {
 public:
  Records(std::string_view text, const fs::path& path) : text_(text), path_(path) {}

  bool at_end() const { return ended_; }
  std::size_t line() const { return record_line_; }  // where the record last read starts

  Result<void> next(Fields& fields) {
    fields.clear();
    record_line_ = line_;
    for (;;) {
      at_ = std::min(text_.find_first_not_of(" \t", at_), text_.size());
      MFL_TRY(const std::string_view field, at_ < text_.size() && text_[at_] == '"' ? quoted() : plain());
      fields.push_back(field);
      if (at_ == text_.size()) {
        ended_ = true;
        return {};
      }
      if (text_[at_++] == '\n') {
        ++line_;
        return {};
      }
    }
  }

 private:
  Result<std::string_view> plain() {
    const std::size_t end = std::min(text_.find_first_of(",\n", at_), text_.size());
    const std::string_view field = trim(text_.substr(at_, end - at_));
    at_ = end;
    return field;
  }

  Result<std::string_view> quoted() {
    std::string& field = unquoted_.emplace_back();
    for (++at_;; ++at_) {
      const std::size_t end = text_.find('"', at_);
      if (end == std::string_view::npos)
        return bad_line(path_, line_, "a quoted field is never closed", "add the missing double quote");
      const std::string_view part = text_.substr(at_, end - at_);
      line_ += static_cast<std::size_t>(std::count(part.begin(), part.end(), '\n'));
      field += part;
      at_ = end + 1;
      if (at_ == text_.size() || text_[at_] != '"') break;
      field += '"';
    }
    at_ = std::min(text_.find_first_not_of(" \t\r", at_), text_.size());
    if (at_ < text_.size() && text_[at_] != ',' && text_[at_] != '\n')
      return bad_line(path_, line_, "text after the closing quote of a field",
                      "write a quote inside quotes as \"\"");
    return trim(field);
  }

  std::string_view text_;
  const fs::path& path_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
  std::size_t record_line_ = 1;
  bool ended_ = false;
  std::deque<std::string> unquoted_;
};

bool looks_like_header(const Fields& first) {
  return std::any_of(first.begin(), first.end(),
                     [](std::string_view f) { return !f.empty() && !parse_number(f); });
}

// `names` is empty when the file has no header.
Result<std::size_t> label_column(const std::string& label, const Fields& names, std::size_t columns,
                                 const fs::path& path) {
  if (label == "last") return columns - 1;
  if (const auto number = parse_count(label)) {
    if (*number < columns) return *number;
    return fail(ErrorCode::kBadConfig,
                fmt::format("{}: no label column {}, there are {}", path.string(), label, columns),
                fmt::format("columns count from 0: the last one is {}", columns - 1));
  }
  if (names.empty())
    return fail(ErrorCode::kBadConfig,
                fmt::format("{}: label column {} cannot be found: the file has no header", path.string(),
                            excerpt(label)),
                "give its number, counted from 0, or \"last\"");
  const auto found = std::find(names.begin(), names.end(), label);
  if (found != names.end() && std::find(found + 1, names.end(), label) == names.end())
    return static_cast<std::size_t>(found - names.begin());
  if (found != names.end())
    return fail(ErrorCode::kBadConfig,
                fmt::format("{}: more than one column is named {}", path.string(), excerpt(label)),
                "give its number, counted from 0");
  const std::string near = nearest(label, names);
  return fail(ErrorCode::kBadConfig, fmt::format("{}: no column named {}", path.string(), excerpt(label)),
              near.empty() ? "give its number, counted from 0, or \"last\""
                           : fmt::format("did you mean {}?", excerpt(near)));
}

Result<double> parse_field(std::string_view field, std::size_t column, std::size_t line,
                           const fs::path& path) {
  const auto value = parse_number(field);
  if (value && std::isfinite(*value)) return *value;
  const std::string_view what = field.empty() ? "is empty" : value ? "is not finite" : "is not a number";
  return bad_line(path, line,
                  fmt::format("column {} {}{}{}", column + 1, what, field.empty() ? "" : ": ",
                              field.empty() ? "" : excerpt(field)),
                  "every field must be a finite number; mend or remove the line");
}

Result<void> append_record(const Fields& fields, std::size_t label, std::size_t line, const fs::path& path,
                           std::vector<double>& features, Dataset& data) {
  if (fields.size() != data.columns + 1)
    return bad_line(
        path, line,
        fmt::format("ragged row: {} columns, the first line has {}", fields.size(), data.columns + 1),
        "give every line the same number of commas");
  for (std::size_t column = 0; column < fields.size(); ++column) {
    MFL_TRY(const double value, parse_field(fields[column], column, line, path));
    (column == label ? data.labels : features).push_back(value);
  }
  ++data.rows;
  return {};
}

std::string_view body(std::string_view file) {
  if (file.starts_with("\xef\xbb\xbf")) file.remove_prefix(3);
  const auto last = file.find_last_not_of(" \t\r\n");
  return file.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

}  // namespace

Result<Dataset> read_csv(const fs::path& path, const CsvOptions& options) {
  MFL_TRY(const std::string bytes, read_data_file(path));
  return parse_csv({bytes, path}, options);
}

Result<Dataset> parse_csv(const FileBytes& file, const CsvOptions& options) {
  const fs::path& path = file.path;
  const std::string_view text = body(file.bytes);
  if (text.empty()) return bad_file(path, "the file is empty", "give a CSV file with a line for each sample");
  Records records(text, path);
  Fields fields;
  MFL_CHECK(records.next(fields));
  if (fields.size() < 2)
    return bad_line(path, 1, "only one column, so there are no features beside the label",
                    "separate fields with commas");
  const bool header =
      options.header == CsvHeader::kYes || (options.header == CsvHeader::kAuto && looks_like_header(fields));
  MFL_TRY(const std::size_t label,
          label_column(options.label, header ? fields : Fields{}, fields.size(), path));
  Dataset data;
  data.columns = fields.size() - 1;
  std::vector<double> features;
  if (!header) MFL_CHECK(append_record(fields, label, records.line(), path, features, data));
  while (!records.at_end()) {
    MFL_CHECK(records.next(fields));
    MFL_CHECK(append_record(fields, label, records.line(), path, features, data));
  }
  if (data.rows == 0)
    return bad_line(path, records.line(), "no samples after the header", "give a line for each sample");
  data.features = DenseRows<double>{std::move(features)};
  return data;
}

}  // namespace mfl
