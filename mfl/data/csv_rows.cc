#include "mfl/data/csv_rows.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "mfl/base/nearest.h"
#include "mfl/data/text.h"

namespace mfl {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kIgnored = kNoColumn;
constexpr std::size_t kLabel = kNoColumn - 1;

struct Separator {
  char character;
  std::string_view plural, flag;
};

constexpr std::array<Separator, 4> kSeparators = {
    {{',', "commas", "','"}, {';', "semicolons", "';'"}, {'\t', "tabs", "tab"}, {'|', "bars", "'|'"}}};

std::string_view plural(char separator) {
  return std::ranges::find(kSeparators, separator, &Separator::character)->plural;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

}  // namespace

CsvRecords::CsvRecords(char separator, const fs::path& path)
    : separator_(separator),
      path_(path),
      blanks_(separator == '\t' ? " " : " \t"),
      closing_(separator == '\t' ? " \r" : " \t\r"),
      blank_or_end_(separator == '\t' ? " \r\n" : " \t\r\n") {}

void CsvRecords::set_text(std::string_view text, bool last) {
  text_ = text;
  last_ = last;
  at_ = 0;
}

Result<CsvFound> CsvRecords::next(CsvFields& fields) {
  fields.clear();
  used_ = 0;
  if (text_.find_first_not_of(blank_or_end_, at_) == std::string_view::npos)
    return last_ ? CsvFound::kEnd : CsvFound::kNeedsText;
  std::size_t at = at_;
  std::size_t line = line_;
  for (;;) {
    at = std::min(text_.find_first_not_of(blanks_, at), text_.size());
    const bool quotes = at < text_.size() && text_[at] == '"';
    MFL_TRY(const CsvFound field, quotes ? quoted(at, line, fields) : plain(at, fields));
    if (field == CsvFound::kNeedsText) return field;
    const bool ends = at == text_.size() || text_[at] == '\n';
    if (at < text_.size()) ++at;
    if (!ends) continue;
    at_ = at;
    record_line_ = line_;
    line_ = line + 1;
    return CsvFound::kRecord;
  }
}

Result<CsvFound> CsvRecords::plain(std::size_t& at, CsvFields& fields) const {
  const auto* const stop =
      std::find_if(text_.begin() + at, text_.end(), [this](char c) { return c == separator_ || c == '\n'; });
  if (stop == text_.end() && !last_) return CsvFound::kNeedsText;
  const auto end = static_cast<std::size_t>(stop - text_.begin());
  fields.push_back(trim(text_.substr(at, end - at)));
  at = end;
  return CsvFound::kRecord;
}

Result<CsvFound> CsvRecords::quoted(std::size_t& at, std::size_t& line, CsvFields& fields) {
  if (used_ == unquoted_.size()) unquoted_.emplace_back();
  std::string& field = unquoted_[used_++];
  field.clear();
  for (++at;; ++at) {
    const std::size_t end = text_.find('"', at);
    if (end == std::string_view::npos) {
      if (!last_) return CsvFound::kNeedsText;
      return bad_line(path_, line, "a quoted field is never closed", "add the missing double quote");
    }
    const std::string_view part = text_.substr(at, end - at);
    line += static_cast<std::size_t>(std::ranges::count(part, '\n'));
    field += part;
    at = end + 1;
    if (at == text_.size() || text_[at] != '"') break;
    field += '"';
  }
  at = std::min(text_.find_first_not_of(closing_, at), text_.size());
  if (at == text_.size() && !last_) return CsvFound::kNeedsText;
  if (at < text_.size() && text_[at] != separator_ && text_[at] != '\n')
    return bad_line(path_, line, "text after the closing quote of a field",
                    "write a quote inside quotes as \"\"");
  fields.push_back(trim(field));
  return CsvFound::kRecord;
}

std::string_view CsvRecords::line_ahead() const {
  const std::size_t end = text_.find('\n', at_);
  if (end == std::string_view::npos && !last_) return {};
  std::string_view line = text_.substr(at_, std::min(end, text_.size()) - at_);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

void CsvRecords::skip_line(std::string_view line) {
  at_ += line.size();
  if (at_ < text_.size() && text_[at_] == '\r') ++at_;
  if (at_ < text_.size()) ++at_;
  record_line_ = line_++;
}

CsvRows::CsvRows(const CsvColumns& columns) : places_(columns.count, kIgnored) {
  for (std::size_t i = 0; i < columns.features.size(); ++i) places_[columns.features[i]] = i;
  if (columns.label != kNoColumn) places_[columns.label] = kLabel;
}

Result<CsvFound> CsvRows::next(CsvRecords& records, std::span<double> features, std::string_view& label) {
  const std::string_view line = records.line_ahead();
  if (!line.empty() && read_simple(line, records.separator(), features, label)) {
    records.skip_line(line);
    return CsvFound::kRecord;
  }
  MFL_TRY(const CsvFound found, records.next(fields_));
  if (found == CsvFound::kRecord) MFL_CHECK(read(fields_, records, features, label));
  return found;
}

// Most lines need no more than this. It reads what read() reads of them, and refuses everything else, without
// a reason.
bool CsvRows::read_simple(std::string_view line, char separator, std::span<double> features,
                          std::string_view& label) const {
  const char* at = line.data();
  const char* const end = at + line.size();
  for (const std::size_t& place : places_) {
    while (at < end && (*at == ' ' || (*at == '\t' && separator != '\t'))) ++at;
    if (place < kLabel) {
      at = read_number(at, end, features[place]);
      if (at == nullptr || !std::isfinite(features[place])) return false;
    } else {
      const bool quotes = at < end && *at == '"';
      if (quotes) ++at;
      const char* const stop = std::find(at, end, quotes ? '"' : separator);
      if (quotes && stop == end) return false;
      const std::string_view text(at, static_cast<std::size_t>(stop - at));
      at = quotes ? stop + 1 : stop;
      if (place == kLabel) label = trim(text);
    }
    if (&place == &places_.back()) return at == end;
    if (at == end || *at != separator) return false;
    ++at;
  }
  return false;
}

Result<void> CsvRows::read(const CsvFields& fields, const CsvRecords& records, std::span<double> features,
                           std::string_view& label) const {
  if (fields.size() != places_.size())
    return bad_line(
        records.path(), records.line(),
        fmt::format("ragged row: {} columns, the first line has {}", fields.size(), places_.size()),
        fmt::format("give every line the same number of {}", plural(records.separator())));
  for (std::size_t column = 0; column < fields.size(); ++column) {
    const std::size_t place = places_[column];
    if (place == kIgnored) continue;
    if (place == kLabel) {
      label = fields[column];
      continue;
    }
    const auto value = parse_number(fields[column]);
    if (!value || !std::isfinite(*value)) return bad_feature(fields, column, records);
    features[place] = *value;
  }
  return {};
}

// Says how to leave out all columns of the line that are not numbers, for they are likely to be none in the
// others.
tl::unexpected<Error> CsvRows::bad_feature(const CsvFields& fields, std::size_t column,
                                           const CsvRecords& records) const {
  auto error = bad_csv_field(fields[column], column, records.line(), records.path(), names_);
  if (names_.empty() || fields[column].find(',') != std::string_view::npos) return error;
  std::string others, drop = names_[column];
  for (std::size_t other = column + 1; other < fields.size() && is_csv_text(fields[column]); ++other)
    if (places_[other] < kLabel && is_csv_text(fields[other])) {
      others += fmt::format("{}{}", others.empty() ? "; nor is " : ", ", excerpt(names_[other]));
      drop += "," + names_[other];
    }
  if (drop.find_first_of(" '\"$&|;<>()*?`\\") != std::string::npos) drop = fmt::format("'{}'", drop);
  error.value().message += others;
  error.value().hint =
      is_csv_text(fields[column])
          ? fmt::format(
                "leave out what is no feature with --drop {}; if the label is among them, "
                "name it with --label",
                drop)
          : fmt::format("fix or remove the line, or leave the column out with --drop {}", drop);
  return error;
}

tl::unexpected<Error> bad_csv_field(std::string_view field, std::size_t column, std::size_t line,
                                    const fs::path& path, const CsvNames& names) {
  const std::string_view what = field.empty()         ? "is empty"
                                : parse_number(field) ? "is not finite"
                                                      : "is not a number";
  std::string hint =
      "every feature must be a finite number and no label may be missing; fix or remove the line";
  if (field.find(',') != std::string_view::npos) hint = "write numbers with a decimal point, not a comma";
  return bad_line(
      path, line,
      fmt::format("column {} {}{}{}", names.empty() ? fmt::format("{}", column + 1) : excerpt(names[column]),
                  what, field.empty() ? "" : ": ", field.empty() ? "" : excerpt(field)),
      std::move(hint));
}

bool is_csv_text(std::string_view field) { return !field.empty() && !parse_number(field); }

CsvNames csv_names(const CsvFields& fields) {
  CsvNames names;
  for (const std::string_view field : fields) names.push_back(as_utf8(field));
  return names;
}

std::string_view without_byte_order_mark(std::string_view file) {
  if (file.starts_with("\xef\xbb\xbf")) file.remove_prefix(3);
  return file;
}

std::string separator_hint(std::string_view line, char separator) {
  const auto uses = [&](const Separator& one) { return std::ranges::count(line, one.character); };
  const auto* const most = std::ranges::max_element(kSeparators, {}, uses);
  if (uses(*most) == 0 || most->character == separator)
    return fmt::format("separate fields with {}", plural(separator));
  return fmt::format("if fields are separated by {}, set separator (--separator {})", most->plural,
                     most->flag);
}

std::string nearest_column(const std::string& name, const CsvNames& names, std::string_view otherwise) {
  const auto same =
      std::ranges::find_if(names, [&](const std::string& known) { return lower(known) == lower(name); });
  const std::string near =
      same != names.end() ? *same : nearest(name, std::vector<std::string_view>(names.begin(), names.end()));
  return near.empty() ? std::string(otherwise) : fmt::format("did you mean {}?", excerpt(near));
}

Result<std::size_t> find_csv_column(const CsvRole& role, const std::string& text, const CsvNames& names,
                                    std::size_t count, const fs::path& path) {
  const auto refuse = [&](const std::string& what, std::string hint) {
    return fail(ErrorCode::kBadConfig, fmt::format("{}: {}", path.string(), what), std::move(hint));
  };
  if (const auto number = parse_count(text)) {
    if (*number < count) return *number;
    return refuse(fmt::format("no {} {}, there are {}", role.noun, text, count),
                  fmt::format("columns count from 0: the last one is {}", count - 1));
  }
  if (names.empty())
    return refuse(fmt::format("{} {} cannot be found: the file has no header", role.noun, excerpt(text)),
                  std::string(role.advice));
  const auto found = std::ranges::find(names, text);
  if (found == names.end())
    return refuse(fmt::format("no {} named {}", role.noun, excerpt(text)),
                  nearest_column(text, names, role.advice));
  if (std::find(found + 1, names.end(), text) != names.end())
    return refuse(fmt::format("more than one column is named {}", excerpt(text)),
                  "give its number, counted from 0");
  return static_cast<std::size_t>(found - names.begin());
}

}  // namespace mfl
