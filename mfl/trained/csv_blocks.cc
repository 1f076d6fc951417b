#include "mfl/trained/csv_blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "mfl/base/nearest.h"
#include "mfl/data/text.h"
#include "mfl/trained/column_match.h"
#include "mfl/trained/text_parts.h"

namespace mfl {
namespace {

namespace fs = std::filesystem;

// Takes one field after the other from a record.
class FieldCutter {
 public:
  explicit FieldCutter(std::string_view text) : text_(text) {}

  std::size_t at() const { return at_; }
  bool at_end() const { return at_ >= text_.size(); }

  // The next field without blanks and quotes; stops behind the comma or the line end. Nothing for broken quotes.
  std::optional<std::string_view> next(bool& ends_record) {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
    if (at_ < text_.size() && text_[at_] == '"') return quoted(ends_record);
    const std::size_t start = at_;
    while (at_ < text_.size() && text_[at_] != ',' && text_[at_] != '\n') ++at_;
    const std::string_view field = trim(text_.substr(start, at_ - start));
    step_over(ends_record);
    return field;
  }

 private:
  std::optional<std::string_view> quoted(bool& ends_record) {
    unquoted_.clear();
    for (++at_;; ++at_) {
      const std::size_t end = text_.find('"', at_);
      if (end == std::string_view::npos) return std::nullopt;
      unquoted_ += text_.substr(at_, end - at_);
      at_ = end + 1;
      if (at_ == text_.size() || text_[at_] != '"') break;
      unquoted_ += '"';
    }
    at_ = std::min(text_.find_first_not_of(" \t\r", at_), text_.size());
    if (at_ < text_.size() && text_[at_] != ',' && text_[at_] != '\n') return std::nullopt;
    step_over(ends_record);
    return trim(unquoted_);
  }
  void step_over(bool& ends_record) {
    ends_record = at_ >= text_.size() || text_[at_] == '\n';
    if (at_ < text_.size()) ++at_;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string unquoted_;
};

std::optional<std::vector<std::string>> fields_of(std::string_view line) {
  std::vector<std::string> out;
  FieldCutter cutter(line);
  for (bool ends = false; !ends;) {
    const auto field = cutter.next(ends);
    if (!field) return std::nullopt;
    out.push_back(as_utf8(*field));
  }
  return out;
}

bool is_header(const std::vector<std::string>& fields, CsvHeader header) {
  if (header != CsvHeader::kAuto) return header == CsvHeader::kYes;
  return std::ranges::any_of(fields,
                             [](const std::string& field) { return !field.empty() && !parse_number(field); });
}

constexpr std::size_t kIgnored = std::numeric_limits<std::size_t>::max();

class CsvBlocks final : public RowBlocks {
 public:
  // slots[c] is the feature in column c of the file, or kIgnored.
  CsvBlocks(TextParts parts, std::vector<std::size_t> slots, std::size_t features, std::optional<Part> first)
      : parts_(std::move(parts)), slots_(std::move(slots)), features_(features), first_(std::move(first)) {}

  Result<std::optional<Part>> take() override {
    if (first_) return std::exchange(first_, std::nullopt);
    return parts_.next();
  }

  Result<Dataset> rows(const Part& part) const override {
    DenseRows<double> values;
    values.values.reserve(part.text.size() / 8);
    std::size_t line = part.first;
    Dataset out;
    for (FieldCutter cutter(part.text); !cutter.at_end(); ++out.rows) {
      const std::size_t start = cutter.at();
      if (is_blank(part.text, start)) {
        MFL_CHECK(require_blank(part.text, start, line));
        break;
      }
      values.values.resize((out.rows + 1) * features_);
      MFL_CHECK(read_record(cutter, line, values.values.data() + out.rows * features_));
      line += static_cast<std::size_t>(
          std::count(part.text.begin() + static_cast<std::ptrdiff_t>(start),
                     part.text.begin() + static_cast<std::ptrdiff_t>(cutter.at()), '\n'));
    }
    out.columns = features_;
    out.features = std::move(values);
    out.labels.resize(out.rows);
    return out;
  }

 private:
  static bool is_blank(std::string_view text, std::size_t start) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    return trim(text.substr(start, end - start)).empty();
  }

  // Blank lines are allowed at the end only.
  Result<void> require_blank(std::string_view text, std::size_t start, std::size_t line) const {
    if (trim(text.substr(start)).empty()) return {};
    return bad_line(parts_.path(), line, "blank line between samples", "delete it");
  }

  Result<void> read_record(FieldCutter& cutter, std::size_t line, double* out) const {
    std::size_t column = 0;
    for (bool ends = false; !ends; ++column) {
      const auto field = cutter.next(ends);
      if (!field)
        return bad_line(parts_.path(), line, "a quoted field is not closed", "add the missing double quote");
      if (column >= slots_.size() || slots_[column] == kIgnored) continue;
      MFL_TRY(out[slots_[column]], number_in(*field, line, column));
    }
    if (column == slots_.size()) return {};
    return bad_line(parts_.path(), line,
                    fmt::format("{} fields, and {} in the first line", column, slots_.size()),
                    "give every line as many fields");
  }

  Result<double> number_in(std::string_view field, std::size_t line, std::size_t column) const {
    double number = 0;
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), number);
    if (error == std::errc() && end == field.data() + field.size() && std::isfinite(number)) return number;
    const auto slow = parse_number(field);  // takes a leading plus
    if (slow && std::isfinite(*slow)) return *slow;
    return bad_line(parts_.path(), line,
                    field.empty() ? fmt::format("column {} is empty", column + 1)
                                  : fmt::format("column {} is not {}: {}", column + 1,
                                                slow ? "finite" : "a number", excerpt(field)),
                    "features are numbers");
  }

  TextParts parts_;
  std::vector<std::size_t> slots_;
  std::size_t features_;
  std::optional<Part> first_;  // the first line, where it is a sample
};

std::vector<std::size_t> slots_of(const std::vector<std::size_t>& places, std::size_t columns) {
  std::vector<std::size_t> out(columns, kIgnored);
  for (std::size_t feature = 0; feature < places.size(); ++feature) out[places[feature]] = feature;
  return out;
}

// Where the features are in lines of `columns` fields that have no names.
Result<std::vector<std::size_t>> places_by_position(const fs::path& path, const CsvOptions& options,
                                                    std::size_t columns, const Schema& schema) {
  const std::size_t features = schema.columns;
  std::size_t label = columns;
  if (columns == features + 1)
    label = options.label == "last" ? columns - 1 : parse_count(options.label).value_or(columns - 1);
  else if (columns != features)
    return fail(ErrorCode::kBadData,
                fmt::format("{} has {} columns without names, and the model {} features", path.string(),
                            columns, features),
                "give the columns that the model was trained on, or a header with their names");
  std::vector<std::size_t> places;
  for (std::size_t column = 0; column < columns && places.size() < features; ++column)
    if (column != label) places.push_back(column);
  return places;
}

}  // namespace

Result<std::unique_ptr<RowBlocks>> open_csv_blocks(const fs::path& path, const CsvOptions& options,
                                                   const Schema& schema) {
  constexpr std::string_view kMark = "\xef\xbb\xbf";  // a byte order mark
  MFL_TRY(TextParts parts, TextParts::open(path, true));
  MFL_TRY(std::string line, parts.first_line());
  if (line.starts_with(kMark)) line.erase(0, kMark.size());
  if (trim(line).empty())
    return bad_file(path, "the file is empty: no samples", "give a line for each sample");
  const auto fields = fields_of(line);
  if (!fields) return bad_line(path, 1, "a quoted field is not closed", "add the missing double quote");
  const bool named = is_header(*fields, options.header);
  Result<std::vector<std::size_t>> places = named && !schema.features.empty()
                                                ? places_by_name(path.string(), *fields, schema)
                                                : places_by_position(path, options, fields->size(), schema);
  MFL_TRY(const std::vector<std::size_t> found, std::move(places));
  std::optional<RowBlocks::Part> first;
  if (!named) first = RowBlocks::Part{.text = std::move(line), .first = 1, .count = 0};
  return std::make_unique<CsvBlocks>(std::move(parts), slots_of(found, fields->size()), schema.columns,
                                     std::move(first));
}

}  // namespace mfl
