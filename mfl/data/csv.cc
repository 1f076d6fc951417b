#include "mfl/data/csv.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <map>
#include <string_view>

#include "mfl/base/nearest.h"
#include "mfl/data/schema.h"

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

bool is_text(std::string_view field) { return !field.empty() && !parse_number(field); }

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

// The same name but for upper and lower case is nearer than any other.
std::string nearest_name(const std::string& label, const Fields& names) {
  for (const std::string_view name : names)
    if (lower(name) == lower(label)) return std::string(name);
  return nearest(label, names);
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
  const std::string near = nearest_name(label, names);
  return fail(ErrorCode::kBadConfig, fmt::format("{}: no column named {}", path.string(), excerpt(label)),
              near.empty() ? "give its number, counted from 0, or \"last\""
                           : fmt::format("did you mean {}?", excerpt(near)));
}

tl::unexpected<Error> bad_field(std::string_view field, std::size_t column, std::size_t line,
                                const fs::path& path) {
  const std::string_view what = field.empty()         ? "is empty"
                                : parse_number(field) ? "is not finite"
                                                      : "is not a number";
  return bad_line(
      path, line,
      fmt::format("column {} {}{}{}", column + 1, what, field.empty() ? "" : ": ",
                  field.empty() ? "" : excerpt(field)),
      "every feature must be a finite number and no label may be missing; fix or remove the line");
}

// The label column: numbers, or classes as soon as one field is no number.
class Labels {
 public:
  Labels(std::size_t column, const fs::path& path) : column_(column), path_(path) {}

  Result<void> add(std::string_view field, std::size_t line) {
    const auto number = parse_number(field);
    if (field.empty() || (number && !std::isfinite(*number))) return bad_field(field, column_, line, path_);
    lines_.push_back(static_cast<std::uint32_t>(line));
    if (number && !is_text_) {
      values_.push_back(*number);
      return {};
    }
    if (!is_text_) become_text();
    values_.push_back(number_of(number ? number_label(*number) : as_utf8(field)));
    if (numbers_.size() > kMostClasses)
      return bad_line(path_, line,
                      fmt::format("column {} has more than {} different texts, so it is no label column",
                                  column_ + 1, kMostClasses),
                      "name the label column with --label");
    return {};
  }

  bool has_class(std::string_view field) const { return is_text_ && numbers_.contains(as_utf8(field)); }

  // One more label, before all others.
  void prepend(std::string_view field, std::size_t line) {
    values_.insert(values_.begin(), number_of(as_utf8(field)));
    lines_.insert(lines_.begin(), static_cast<std::uint32_t>(line));
  }

  std::size_t size() const { return values_.size(); }

  // Gives the labels; classes in order, their lines and their place go to `origin`.
  std::vector<double> finish(Origin& origin) {
    if (is_text_) {
      for (const auto& [name, number] : numbers_) origin.classes.push_back(name);
      std::ranges::sort(origin.classes, class_before);
      std::vector<double> place(numbers_.size());
      for (std::size_t i = 0; i < origin.classes.size(); ++i)
        place[static_cast<std::size_t>(numbers_.at(origin.classes[i]))] = static_cast<double>(i);
      for (double& value : values_) value = place[static_cast<std::size_t>(value)];
    }
    origin.path = path_;
    origin.label_column = column_ + 1;
    origin.lines = std::move(lines_);
    origin.labels = values_;
    return std::move(values_);
  }

 private:
  static constexpr std::size_t kMostClasses = 1000;

  double number_of(const std::string& name) {
    return numbers_.try_emplace(name, static_cast<double>(numbers_.size())).first->second;
  }

  void become_text() {
    is_text_ = true;
    for (double& value : values_) value = number_of(number_label(value));
  }

  std::size_t column_;
  const fs::path& path_;
  bool is_text_ = false;
  std::map<std::string, double> numbers_;  // of the classes, in the order in which they came
  std::vector<double> values_;
  std::vector<std::uint32_t> lines_;
};

Result<void> append_record(const Fields& fields, std::size_t label, std::size_t line, const fs::path& path,
                           std::vector<double>& features, Labels& labels, std::size_t columns) {
  if (fields.size() != columns + 1)
    return bad_line(path, line,
                    fmt::format("ragged row: {} columns, the first line has {}", fields.size(), columns + 1),
                    "give every line the same number of commas");
  for (std::size_t column = 0; column < fields.size(); ++column) {
    if (column == label) {
      MFL_CHECK(labels.add(fields[column], line));
      continue;
    }
    const auto value = parse_number(fields[column]);
    if (!value || !std::isfinite(*value)) return bad_field(fields[column], column, line, path);
    features.push_back(*value);
  }
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
  if (text.empty()) return bad_file(path, "the file is empty", "give a CSV file with one line per sample");
  Records records(text, path);
  Fields first;
  MFL_CHECK(records.next(first));
  if (first.size() < 2)
    return bad_line(path, 1, "only one column, so there are no features beside the label",
                    "separate fields with commas");
  const bool guessed = options.header == CsvHeader::kAuto && std::ranges::any_of(first, is_text);
  const bool header = options.header == CsvHeader::kYes || guessed;
  MFL_TRY(const std::size_t label,
          label_column(options.label, header ? first : Fields{}, first.size(), path));
  const std::size_t columns = first.size() - 1;
  std::vector<double> features;
  Labels labels(label, path);
  const auto append = [&](const Fields& fields, std::size_t line) {
    return append_record(fields, label, line, path, features, labels, columns);
  };
  if (!header) MFL_CHECK(append(first, records.line()));
  Fields fields;
  while (!records.at_end()) {
    MFL_CHECK(records.next(fields));
    MFL_CHECK(append(fields, records.line()));
  }
  Origin origin;
  // Numbers and a text that is a class further down are a sample, not names.
  if (guessed && options.label != first[label] && labels.has_class(first[label]) &&
      std::ranges::count_if(first, is_text) == 1 && std::ranges::count(first, "") == 0) {
    std::vector<double> sample;
    for (std::size_t column = 0; column <= columns; ++column)
      if (column != label) sample.push_back(*parse_number(first[column]));
    if (const auto bad = std::ranges::find_if_not(sample, [](double x) { return std::isfinite(x); });
        bad != sample.end())
      return bad_line(path, 1, "a number is not finite", "every feature must be a finite number");
    features.insert(features.begin(), sample.begin(), sample.end());
    labels.prepend(first[label], 1);
  } else if (header) {
    for (std::size_t column = 0; column <= columns; ++column)
      (column == label ? origin.label : origin.features.emplace_back()) = as_utf8(first[column]);
    origin.header_guessed = guessed;
  }
  if (labels.size() == 0)
    return bad_line(path, records.line(), "no samples after the header", "give one line per sample");
  Dataset data;
  data.rows = labels.size();
  data.columns = columns;
  data.features = DenseRows<double>{std::move(features)};
  data.labels = labels.finish(origin);
  data.origin = std::make_shared<const Origin>(std::move(origin));
  return data;
}

}  // namespace mfl
