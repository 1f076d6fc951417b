#include "mfl/data/csv.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>

#include "mfl/data/csv_rows.h"
#include "mfl/data/schema.h"

namespace mfl {
namespace {

namespace fs = std::filesystem;

// The label column: numbers, or classes as soon as one field is no number.
class Labels {
 public:
  Labels(std::size_t column, const fs::path& path, CsvNames names)
      : column_(column), path_(path), column_names_(std::move(names)) {}

  Result<void> add(std::string_view field, std::size_t line) {
    const auto number = parse_number(field);
    if (field.empty() || (number && !std::isfinite(*number)))
      return bad_csv_field(field, column_, line, path_, column_names_);
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
                                  column_names_.empty() ? fmt::format("{}", column_ + 1)
                                                        : excerpt(column_names_[column_]),
                                  kMostClasses),
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
  CsvNames column_names_;  // empty: not known
  bool is_text_ = false;
  std::map<std::string, double> numbers_;  // class to number, in the order in which the classes came
  std::vector<double> values_;
  std::vector<std::uint32_t> lines_;
};

// The columns to read, and whether the first line has their names.
struct CsvLayout {
  CsvColumns columns;
  bool header = false;
  bool guessed = false;  // by looking at the line
  bool by_name = false;  // a column was chosen by a name in the header
};

Result<CsvColumns> choose_columns(const CsvOptions& options, const CsvNames& names, std::size_t count,
                                  const fs::path& path) {
  const auto refuse = [&](std::size_t column, std::string_view what, std::string_view advice) {
    const std::string name = names.empty() ? fmt::format("{}", column) : excerpt(names[column]);
    return fail(ErrorCode::kBadConfig, fmt::format("{}: column {} {}", path.string(), name, what),
                std::string(advice));
  };
  std::vector<bool> dropped(count), taken(count);
  for (const std::string& text : options.drop) {
    MFL_TRY(const std::size_t column, find_csv_column(kDropRole, text, names, count, path));
    dropped[column] = true;
  }
  std::size_t group = kNoColumn;
  if (!options.group.empty()) {
    MFL_TRY(group, find_csv_column(kGroupRole, options.group, names, count, path));
    dropped[group] = true;
  }
  CsvColumns columns{count, {}, kNoColumn};
  for (std::size_t column = 0; options.label == "last" && column < count; ++column)
    if (!dropped[column]) columns.label = column;
  if (options.label != "last") {
    MFL_TRY(columns.label, find_csv_column(kLabelRole, options.label, names, count, path));
    if (columns.label == group)
      return refuse(group, "is the label and names the nodes", "set another label, or another partition");
    if (dropped[columns.label])
      return refuse(columns.label, "is the label and dropped", "leave it out of drop, or set another label");
  }
  for (const std::string& text : options.features) {
    MFL_TRY(const std::size_t column, find_csv_column(kFeatureRole, text, names, count, path));
    if (column == group)
      return refuse(column, "is in features and names the nodes", "leave it out of features");
    if (dropped[column])
      return refuse(column, "is both in features and in drop", "leave it out of one of them");
    if (taken[column]) return refuse(column, "is named twice in features", "name each column once");
    if (column == columns.label)
      return refuse(column, "is both a feature and the label", "name the label column with --label");
    taken[column] = true;
    columns.features.push_back(column);
  }
  for (std::size_t column = 0; options.features.empty() && column < count; ++column)
    if (!dropped[column] && column != columns.label) columns.features.push_back(column);
  if (columns.features.empty())
    return fail(ErrorCode::kBadConfig,
                fmt::format("{}: no features are left: all columns but the label are dropped", path.string()),
                "drop fewer of them");
  return columns;
}

std::vector<std::size_t> columns_read(const CsvColumns& columns) {
  std::vector<std::size_t> read = columns.features;
  read.push_back(columns.label);
  return read;
}

Result<CsvLayout> lay_out(const CsvOptions& options, const CsvNames& first, const fs::path& path) {
  const auto is_name = [](const std::string& text) { return !parse_count(text); };
  const bool by_name =
      (options.label != "last" && is_name(options.label)) || std::ranges::any_of(options.drop, is_name) ||
      (!options.group.empty() && is_name(options.group)) || std::ranges::any_of(options.features, is_name);
  CsvLayout out;
  out.by_name = by_name;
  if (by_name) {
    out.guessed = options.header == CsvHeader::kAuto && std::ranges::any_of(first, is_csv_text);
    out.header = options.header == CsvHeader::kYes || out.guessed;
    MFL_TRY(out.columns, choose_columns(options, out.header ? first : CsvNames{}, first.size(), path));
    return out;
  }
  MFL_TRY(out.columns, choose_columns(options, {}, first.size(), path));
  const auto has_text = [&](std::size_t column) { return is_csv_text(first[column]); };
  out.guessed =
      options.header == CsvHeader::kAuto && std::ranges::any_of(columns_read(out.columns), has_text);
  out.header = options.header == CsvHeader::kYes || out.guessed;
  return out;
}

// Numbers and a text that is a class further down are a sample, not names.
bool is_sample(const CsvNames& line, const CsvLayout& layout, const Labels& labels) {
  if (!layout.guessed || layout.by_name || !labels.has_class(line[layout.columns.label])) return false;
  return std::ranges::all_of(layout.columns.features,
                             [&](std::size_t column) { return parse_number(line[column]).has_value(); });
}

// The texts of the column that names nodes, in a second pass: `rows` of them, the others are a header.
Result<void> read_groups(const FileBytes& file, const CsvOptions& options, const CsvNames& first, bool header,
                         Dataset& data, Origin& origin) {
  MFL_TRY(const std::size_t column,
          find_csv_column(kGroupRole, options.group, first, first.size(), file.path));
  CsvRecords records(options.separator, file.path);
  records.set_text(without_byte_order_mark(file.bytes), true);
  CsvFields fields;
  std::vector<std::string> texts;
  for (bool skipped = !header;;) {
    MFL_TRY(const CsvFound found, records.next(fields));
    if (found == CsvFound::kEnd) break;
    if (!std::exchange(skipped, true)) continue;
    if (fields[column].empty()) return bad_csv_field(fields[column], column, records.line(), file.path);
    texts.push_back(as_utf8(fields[column]));
  }
  origin.groups = texts;
  std::ranges::sort(origin.groups, class_before);
  const auto repeated = std::ranges::unique(origin.groups);
  origin.groups.erase(repeated.begin(), repeated.end());
  for (const std::string& text : texts)
    data.groups.push_back(static_cast<std::uint32_t>(
        std::ranges::lower_bound(origin.groups, text, class_before) - origin.groups.begin()));
  return {};
}

void append_row(std::vector<double>& features, const std::vector<double>& row) {
  features.insert(features.end(), row.begin(), row.end());
}

}  // namespace

tl::unexpected<Error> too_many_columns(const std::string& where, std::size_t columns, std::size_t most) {
  return fail(ErrorCode::kBadData, fmt::format("{}: {} columns, more than {}", where, columns, most),
              fmt::format("fix the file; if it is meant, give --max-columns {}", columns));
}

Result<Dataset> read_csv(const fs::path& path, const CsvOptions& options) {
  MFL_TRY(const std::string bytes, read_data_file(path));
  return parse_csv({bytes, path}, options);
}

Result<Dataset> parse_csv(const FileBytes& file, const CsvOptions& options) {
  const fs::path& path = file.path;
  MFL_CHECK(refuse_packed(file));
  CsvRecords records(options.separator, path);
  const std::string_view text = without_byte_order_mark(file.bytes);
  // Counted before the fields are kept. A separator in quotes counts as well.
  const auto separators = std::ranges::count(text.substr(0, text.find('\n')), options.separator);
  if (const auto count = static_cast<std::size_t>(separators) + 1; count > options.max_columns)
    return too_many_columns(path.string(), count, options.max_columns);
  records.set_text(text, true);
  CsvFields fields;
  MFL_TRY(const CsvFound found, records.next(fields));
  if (found == CsvFound::kEnd)
    return bad_file(path, "the file is empty", "give a CSV file with one line per sample");
  if (fields.size() < 2)
    return bad_line(path, 1, "only one column, so there are no features beside the label",
                    separator_hint(fields[0], options.separator));
  const CsvNames first = csv_names(fields);
  MFL_TRY(const CsvLayout layout, lay_out(options, first, path));
  const CsvColumns& columns = layout.columns;
  CsvRows rows(columns);
  const CsvNames names = layout.header ? first : CsvNames{};
  rows.set_names(names);
  Labels labels(columns.label, path, names);
  std::vector<double> features, row(columns.features.size());
  std::string_view label;
  if (!layout.header) {
    MFL_CHECK(rows.read(fields, records, row, label));
    MFL_CHECK(labels.add(label, records.line()));
    append_row(features, row);
  }
  for (;;) {
    MFL_TRY(const CsvFound next, rows.next(records, row, label));
    if (next == CsvFound::kEnd) break;
    MFL_CHECK(labels.add(label, records.line()));
    append_row(features, row);
  }
  Origin origin;
  if (is_sample(first, layout, labels)) {
    const CsvFields sample(first.begin(), first.end());
    MFL_CHECK(rows.read(sample, CsvRecords(options.separator, path), row, label));
    features.insert(features.begin(), row.begin(), row.end());
    labels.prepend(label, 1);
  } else if (layout.header) {
    for (const std::size_t column : columns.features) origin.features.push_back(first[column]);
    origin.label = first[columns.label];
    origin.header_guessed = layout.guessed;
  }
  if (labels.size() == 0)
    return bad_line(path, records.line(), "no samples after the header", "give one line per sample");
  origin.table_columns = columns.count;
  Dataset data;
  if (!options.group.empty())
    MFL_CHECK(read_groups(file, options, first, !origin.features.empty(), data, origin));
  data.rows = labels.size();
  data.columns = columns.features.size();
  data.features = DenseRows<double>{std::move(features)};
  data.labels = labels.finish(origin);
  data.origin = std::make_shared<const Origin>(std::move(origin));
  return data;
}

}  // namespace mfl
