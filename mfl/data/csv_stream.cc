#include "mfl/data/csv_stream.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "mfl/base/files.h"
#include "mfl/data/csv_rows.h"
#include "mfl/data/text.h"

namespace mfl {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFirstBuffer = std::size_t{256} << 10U;
constexpr std::size_t kMostNamed = 5;

// The bytes of a regular file or of standard input, in order.
class Input {
 public:
  static Result<Input> open(const fs::path& path) {
    if (path == "-") return Input(std::nullopt);
    auto file = FileReader::open(path);
    if (!file) {
      file.error().hint = kCheckPath;
      return tl::unexpected<Error>(file.error());
    }
    return Input(std::move(*file));
  }

  // As many as there are now, at least one; 0 at the end.
  Result<std::size_t> read(std::span<char> out) {
    if (file_) {
      MFL_TRY(const std::size_t count, file_->read(offset_, std::as_writable_bytes(out)));
      offset_ += count;
      return count;
    }
    for (;;) {
      const ssize_t count = ::read(STDIN_FILENO, out.data(), out.size());
      if (count >= 0) return static_cast<std::size_t>(count);
      if (errno != EINTR)
        return bad_file("standard input",
                        fmt::format("cannot read: {}", std::generic_category().message(errno)),
                        "check what it is redirected from");
    }
  }

 private:
  explicit Input(std::optional<FileReader> file) : file_(std::move(file)) {}
  std::optional<FileReader> file_;
  std::uint64_t offset_ = 0;
};

std::string name_list(const CsvNames& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMostNamed); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ", ", excerpt(names[i]));
  return names.size() > kMostNamed ? fmt::format("{} and {} more", text, names.size() - kMostNamed) : text;
}

// Columns by the wanted names; the k-th use of a name is its k-th column.
Result<std::vector<std::size_t>> find_by_name(const CsvNames& wanted, const CsvNames& names, char separator,
                                              const fs::path& path) {
  std::map<std::string_view, std::vector<std::size_t>> places;
  for (std::size_t i = 0; i < names.size(); ++i) places[names[i]].push_back(i);
  std::map<std::string_view, std::size_t> used;
  std::vector<std::size_t> columns;
  CsvNames missing;
  for (const std::string& name : wanted) {
    const auto found = places.find(name);
    const std::size_t use = used[name]++;
    if (found != places.end() && use < found->second.size())
      columns.push_back(found->second[use]);
    else
      missing.push_back(name);
  }
  if (!missing.empty())
    return bad_file(
        path, fmt::format("missing column{} {}", missing.size() == 1 ? "" : "s", name_list(missing)),
        names.size() == 1
            ? separator_hint(names[0], separator)
            : nearest_column(missing[0], names, fmt::format("the file has {}", name_list(names))));
  for (const auto& [name, uses] : used)
    if (places[name].size() > uses)
      return bad_file(path, fmt::format("more than one column is named {}", excerpt(name)),
                      "rename or remove all but one of them");
  return columns;
}

struct StreamLayout {
  CsvColumns columns;
  bool header = false;
};

Result<std::size_t> find_label(const CsvStreamOptions& options, const CsvNames& names, std::size_t count,
                               const fs::path& path) {
  if (options.label.empty()) return kNoColumn;
  if (options.label == "last") return count - 1;
  return find_csv_column(options.identifiers ? kIdentifierRole : kLabelRole, options.label, names, count,
                         path);
}

Result<StreamLayout> lay_out_by_name(const CsvStreamOptions& options, const CsvNames& first,
                                     const fs::path& path) {
  const auto is_here = [&](const std::string& name) { return std::ranges::count(first, name) != 0; };
  const bool header =
      options.header == CsvHeader::kYes ||
      (options.header == CsvHeader::kAuto &&
       (std::ranges::any_of(first, is_csv_text) || std::ranges::all_of(options.features, is_here)));
  if (!header)
    return bad_file(path,
                    fmt::format("no header, and columns are found by name: {}", name_list(options.features)),
                    "begin the file with the names of its columns");
  StreamLayout out{{first.size(), {}, kNoColumn}, true};
  MFL_TRY(out.columns.features, find_by_name(options.features, first, options.separator, path));
  MFL_TRY(out.columns.label, find_label(options, first, first.size(), path));
  if (std::ranges::count(out.columns.features, out.columns.label) != 0)
    return fail(ErrorCode::kBadConfig,
                fmt::format("{}: column {} is both a feature and the label", path.string(),
                            excerpt(first[out.columns.label])),
                "name another label column");
  return out;
}

Result<CsvColumns> choose_by_position(const CsvStreamOptions& options, const CsvNames& names,
                                      std::size_t count, const fs::path& path) {
  CsvColumns columns{count, {}, kNoColumn};
  std::vector<bool> taken(count);
  for (const std::string& text : options.drop) {
    MFL_TRY(const std::size_t column, find_csv_column(kDropRole, text, names, count, path));
    taken[column] = true;
  }
  MFL_TRY(columns.label, find_label(options, names, count, path));
  if (columns.label != kNoColumn) taken[columns.label] = true;
  for (std::size_t column = 0; column < count; ++column)
    if (!taken[column]) columns.features.push_back(column);
  return columns;
}

Result<StreamLayout> lay_out_by_position(const CsvStreamOptions& options, const CsvNames& first,
                                         const fs::path& path) {
  const bool looks = options.header == CsvHeader::kYes ||
                     (options.header == CsvHeader::kAuto && std::ranges::any_of(first, is_csv_text));
  StreamLayout out;
  MFL_TRY(out.columns, choose_by_position(options, looks ? first : CsvNames{}, first.size(), path));
  const auto is_name = [](const std::string& text) {
    return !text.empty() && text != "last" && !parse_count(text);
  };
  const bool by_name = is_name(options.label) || std::ranges::any_of(options.drop, is_name);
  const auto has_text = [&](std::size_t column) { return is_csv_text(first[column]); };
  out.header = options.header == CsvHeader::kYes ||
               (looks && (by_name || std::ranges::any_of(out.columns.features, has_text)));
  const std::size_t left = out.columns.features.size();
  if (left == 0 || (options.columns != 0 && left != options.columns))
    return bad_file(path,
                    fmt::format("{} feature columns of {}, expected {}", left, first.size(),
                                options.columns == 0 ? "at least 1" : fmt::format("{}", options.columns)),
                    first.size() == 1        ? separator_hint(first[0], options.separator)
                    : left > options.columns ? "name the label column, or drop what is not a feature"
                                             : "give a file with the columns of the training data");
  return out;
}

class FileStream final : public CsvStream {
 public:
  FileStream(Input input, const fs::path& path, const CsvStreamOptions& options)
      : options_(options),
        path_(path == "-" ? "standard input" : path),
        input_(std::move(input)),
        records_(options.separator, path_),
        buffer_(kFirstBuffer) {}

  Result<void> start() {
    while (!ended_ && filled_ < 3) MFL_CHECK(fill());
    MFL_CHECK(refuse_packed({{buffer_.data(), filled_}, path_}));
    const std::string_view text = without_byte_order_mark({buffer_.data(), filled_});
    records_.set_text(text, ended_);
    CsvFields fields;
    for (;;) {
      MFL_TRY(const CsvFound found, records_.next(fields));
      if (found == CsvFound::kRecord) break;
      if (found == CsvFound::kEnd)
        return bad_file(path_, "the file is empty", "give a CSV file with one line per sample");
      MFL_CHECK(refill());
    }
    const CsvNames first = csv_names(fields);
    auto made = options_.features.empty() ? lay_out_by_position(options_, first, path_)
                                          : lay_out_by_name(options_, first, path_);
    MFL_TRY(const StreamLayout layout, std::move(made));
    columns_ = layout.columns;
    rows_.emplace(columns_);
    if (layout.header) {
      for (const std::size_t column : columns_.features) names_.push_back(first[column]);
      return {};
    }
    first_.emplace();
    first_->features.resize(columns());
    std::string_view label;
    MFL_CHECK(rows_->read(fields, records_, first_->features, label));
    return take_row(*first_, label);
  }

  std::size_t columns() const override { return columns_.features.size(); }
  const std::vector<std::string>& features() const override { return names_; }
  std::size_t label_column() const override { return columns_.label == kNoColumn ? 0 : columns_.label + 1; }

  Result<bool> next(CsvBlock& block) override {
    block.first_row = read_;
    block.rows = 0;
    block.lines.clear();
    block.features.resize(columns() * options_.block_rows);
    if (columns_.label == kNoColumn) block.labels.clear();
    if (first_) take_first(block);
    while (block.rows < options_.block_rows) {
      std::string_view label;
      const auto row = std::span(block.features).subspan(block.rows * columns(), columns());
      MFL_TRY(const CsvFound found, rows_->next(records_, row, label));
      if (found == CsvFound::kEnd) break;
      if (found == CsvFound::kNeedsText)
        MFL_CHECK(refill());
      else
        MFL_CHECK(take_row(block, label));
    }
    block.features.resize(columns() * block.rows);
    if (columns_.label != kNoColumn) block.labels.resize(block.rows);
    read_ += block.rows;
    return block.rows != 0;
  }

 private:
  // Its features are in place.
  Result<void> take_row(CsvBlock& block, std::string_view label) {
    if (columns_.label != kNoColumn) {
      if (label.empty() && !options_.identifiers)
        return bad_csv_field(label, columns_.label, records_.line(), path_);
      if (block.labels.size() <= block.rows) block.labels.emplace_back();
      block.labels[block.rows] = as_utf8(label);
    }
    block.lines.push_back(records_.line());
    ++block.rows;
    return {};
  }

  void take_first(CsvBlock& block) {
    std::ranges::copy(first_->features, block.features.begin());
    if (columns_.label != kNoColumn) block.labels = first_->labels;
    block.lines = first_->lines;
    block.rows = 1;
    first_.reset();
  }

  Result<void> fill() {
    MFL_TRY(const std::size_t count, input_.read(std::span(buffer_).subspan(filled_)));
    filled_ += count;
    ended_ = count == 0;
    return {};
  }

  // Moves what is not yet cut to the front and at least doubles it, so that long lines are not looked at too
  // often.
  Result<void> refill() {
    const std::string_view rest = records_.rest();
    const std::size_t kept = rest.size();
    if (kept >= kLongestRecord)
      return bad_line(path_, records_.next_line(), fmt::format("longer than {} MiB", kLongestRecord >> 20U),
                      "check that the file is CSV and that quotes are closed");
    std::memmove(buffer_.data(), rest.data(), kept);
    filled_ = kept;
    if (buffer_.size() < 2 * kept + kFirstBuffer / 2) buffer_.resize(2 * buffer_.size());
    do MFL_CHECK(fill());
    while (!ended_ && filled_ < 2 * kept);
    records_.set_text({buffer_.data(), filled_}, ended_);
    return {};
  }

  CsvStreamOptions options_;
  fs::path path_;
  Input input_;
  CsvRecords records_;
  std::vector<char> buffer_;
  std::size_t filled_ = 0;
  bool ended_ = false;
  CsvColumns columns_;
  std::optional<CsvRows> rows_;
  CsvNames names_;
  std::optional<CsvBlock> first_;  // the first line, where it is a row
  std::uint64_t read_ = 0;
};

}  // namespace

Result<std::unique_ptr<CsvStream>> CsvStream::open(const fs::path& path, const CsvStreamOptions& options) {
  if (options.block_rows == 0)
    return fail(ErrorCode::kBadConfig, "a block of 0 rows", "ask for at least 1 row");
  MFL_TRY(Input input, Input::open(path));
  auto stream = std::make_unique<FileStream>(std::move(input), path, options);
  MFL_CHECK(stream->start());
  return std::unique_ptr<CsvStream>(std::move(stream));
}

}  // namespace mfl
