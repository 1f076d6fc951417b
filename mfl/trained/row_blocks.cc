#include "mfl/trained/row_blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "mfl/data/csv_stream.h"
#include "mfl/data/libsvm.h"
#include "mfl/data/npy.h"
#include "mfl/trained/text_parts.h"

namespace mfl {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kNumbers = std::size_t{1} << 17U;  // of a block

std::size_t rows_of_block(std::size_t columns) {
  return std::max<std::size_t>(1, kNumbers / std::max<std::size_t>(1, columns));
}

class CsvBlocks final : public RowBlocks {
 public:
  CsvBlocks(std::unique_ptr<CsvStream> stream, bool identifiers)
      : stream_(std::move(stream)), identifiers_(identifiers) {}

  Result<std::optional<Dataset>> next() override {
    CsvBlock block;
    MFL_TRY(const bool more, stream_->next(block));
    if (!more) return std::nullopt;
    Dataset out;
    out.rows = block.rows;
    out.columns = stream_->columns();
    out.features = DenseRows<double>{std::move(block.features)};
    out.labels.resize(out.rows);
    if (!identifiers_) return out;
    Origin origin;
    origin.groups = std::move(block.labels);
    out.groups.resize(out.rows);
    std::iota(out.groups.begin(), out.groups.end(), 0U);
    out.origin = std::make_shared<const Origin>(std::move(origin));
    return out;
  }

 private:
  std::unique_ptr<CsvStream> stream_;
  bool identifiers_;
};

class LibsvmBlocks final : public RowBlocks {
 public:
  LibsvmBlocks(TextParts parts, std::size_t columns) : parts_(std::move(parts)), columns_(columns) {}

  Result<std::optional<Dataset>> next() override {
    MFL_TRY(const auto part, parts_.next());
    if (!part) return std::nullopt;
    return parse_libsvm_part({part->text, parts_.path()}, columns_, part->first_line);
  }

 private:
  TextParts parts_;
  std::size_t columns_;
};

// Rows that are read by their numbers.
class NumberedBlocks final : public RowBlocks {
 public:
  explicit NumberedBlocks(SomeRows rows) : rows_(std::move(rows)) {}

  Result<std::optional<Dataset>> next() override {
    std::vector<std::uint32_t> places(
        std::min(rows_of_block(rows_.columns()), rows_.size() - static_cast<std::size_t>(taken_)));
    if (places.empty()) return std::nullopt;
    std::iota(places.begin(), places.end(), taken_);
    taken_ += static_cast<std::uint32_t>(places.size());
    return rows_.read(places);
  }

 private:
  SomeRows rows_;
  std::uint32_t taken_ = 0;
};

// A label column, which is not read, may be among the columns of a file without names.
Result<std::unique_ptr<CsvStream>> open_stream(const fs::path& path, const CsvOptions& csv,
                                               const Schema& schema) {
  CsvStreamOptions options;
  options.header = csv.header;
  options.separator = csv.separator;
  options.block_rows = rows_of_block(schema.columns);
  options.label = csv.group;
  options.identifiers = !csv.group.empty();
  if (!schema.features.empty() && csv.header != CsvHeader::kNo) {
    options.features = schema.features;
    return CsvStream::open(path, options);
  }
  options.columns = schema.columns;
  auto unlabelled = CsvStream::open(path, options);
  if (unlabelled || path == "-" || options.identifiers) return unlabelled;
  options.label = csv.label;
  auto labelled = CsvStream::open(path, options);
  return labelled ? std::move(labelled) : std::move(unlabelled);
}

Result<std::unique_ptr<RowBlocks>> open_csv_blocks(const fs::path& path, const CsvOptions& csv,
                                                   const Schema& schema) {
  MFL_TRY(auto stream, open_stream(path, csv, schema));
  return std::make_unique<CsvBlocks>(std::move(stream), !csv.group.empty());
}

Result<std::unique_ptr<RowBlocks>> open_libsvm_blocks(const fs::path& path, const Schema& schema) {
  MFL_TRY(TextParts parts, TextParts::open(path));
  return std::make_unique<LibsvmBlocks>(std::move(parts), schema.columns);
}

Result<std::unique_ptr<RowBlocks>> open_npy_blocks(fs::path path) {
  std::error_code unseen;
  if (fs::is_directory(path, unseen)) path /= "x.npy";
  MFL_TRY(std::shared_ptr<RowSource> source, open_npy_rows(path, {}));
  return std::make_unique<NumberedBlocks>(SomeRows(std::move(source)));
}

Result<std::unique_ptr<RowBlocks>> open_any_blocks(DataOptions options) {
  options.test_source = options.source;
  MFL_TRY(TrainTestRows rows, open_rows(options));
  return std::make_unique<NumberedBlocks>(*std::move(rows.test));
}

}  // namespace

Result<std::unique_ptr<RowBlocks>> open_row_blocks(const DataOptions& options, const Schema& schema) {
  const std::string& spec = options.source;
  const auto path_after = [&](std::string_view kind) -> std::optional<fs::path> {
    if (!spec.starts_with(kind) || spec.size() == kind.size()) return std::nullopt;
    return spec.substr(kind.size());
  };
  if (const auto path = path_after("csv:")) return open_csv_blocks(*path, options.csv, schema);
  if (const auto path = path_after("libsvm:")) return open_libsvm_blocks(*path, schema);
  if (const auto path = path_after("npy:")) return open_npy_blocks(*path);
  return open_any_blocks(options);
}

}  // namespace mfl
