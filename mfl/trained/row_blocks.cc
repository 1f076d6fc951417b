#include "mfl/trained/row_blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "mfl/data/libsvm.h"
#include "mfl/data/npy.h"
#include "mfl/trained/column_match.h"
#include "mfl/trained/csv_blocks.h"
#include "mfl/trained/text_parts.h"

namespace mfl {
namespace {

namespace fs = std::filesystem;

class LibsvmBlocks final : public RowBlocks {
 public:
  LibsvmBlocks(TextParts parts, std::size_t columns) : parts_(std::move(parts)), columns_(columns) {}
  Result<std::optional<Part>> take() override { return parts_.next(); }
  Result<Dataset> rows(const Part& part) const override {
    return parse_libsvm_part({part.text, parts_.path()}, columns_, part.first);
  }

 private:
  TextParts parts_;
  std::size_t columns_;
};

// Rows that are read by their numbers.
class NumberedBlocks final : public RowBlocks {
 public:
  NumberedBlocks(SomeRows rows, const Schema& schema)
      : rows_(std::move(rows)),
        schema_(schema),
        each_(std::max<std::size_t>(1, kNumbers / std::max<std::size_t>(1, rows_.columns()))) {}

  Result<std::optional<Part>> take() override {
    if (taken_ == rows_.size()) return std::nullopt;
    Part part{.text = {}, .first = taken_, .count = std::min(each_, rows_.size() - taken_)};
    taken_ += part.count;
    return part;
  }
  Result<Dataset> rows(const Part& part) const override {
    std::vector<std::uint32_t> places(part.count);
    std::iota(places.begin(), places.end(), static_cast<std::uint32_t>(part.first));
    MFL_TRY(Dataset data, rows_.read(places));
    return with_columns_of(std::move(data), schema_);
  }

 private:
  static constexpr std::size_t kNumbers = std::size_t{1} << 17U;

  SomeRows rows_;
  const Schema& schema_;
  std::size_t each_;
  std::size_t taken_ = 0;
};

SomeRows all_rows(std::shared_ptr<const RowSource> source) {
  std::vector<std::uint32_t> places(source->labels().size());
  std::iota(places.begin(), places.end(), 0U);
  return {std::move(source), std::move(places)};
}

Result<std::unique_ptr<RowBlocks>> open_npy_blocks(fs::path path, const Schema& schema) {
  std::error_code unseen;
  if (fs::is_directory(path, unseen)) path /= "x.npy";
  MFL_TRY(std::unique_ptr<RowSource> source, open_npy_rows(path, {}));
  return std::make_unique<NumberedBlocks>(all_rows(std::move(source)), schema);
}

Result<std::unique_ptr<RowBlocks>> open_any_blocks(DataOptions options, const Schema& schema) {
  options.test_source = options.source;
  MFL_TRY(TrainTestRows rows, open_rows(options));
  return std::make_unique<NumberedBlocks>(*std::move(rows.test), schema);
}

template <class X>
DenseRows<X> columns_at(const DenseRows<X>& from, const std::vector<std::size_t>& places, std::size_t rows,
                        std::size_t columns) {
  DenseRows<X> out;
  out.values.reserve(rows * places.size());
  for (std::size_t row = 0; row < rows; ++row)
    for (const std::size_t place : places) out.values.push_back(from.values[row * columns + place]);
  return out;
}

template <class X>
SparseRows<X> columns_at(const SparseRows<X>& from, const std::vector<std::size_t>& /*places*/,
                         std::size_t /*rows*/, std::size_t /*columns*/) {
  return from;  // no sparse format has names
}

}  // namespace

Result<Dataset> with_columns_of(Dataset data, const Schema& schema) {
  const std::string where =
      data.origin && !data.origin->path.empty() ? data.origin->path.string() : "the data";
  if (data.origin && !data.origin->features.empty() && !schema.features.empty()) {
    if (data.origin->features == schema.features) return data;
    MFL_TRY(const auto places, places_by_name(where, data.origin->features, schema));
    data.features = std::visit(
        [&](const auto& rows) -> Features { return columns_at(rows, places, data.rows, data.columns); },
        data.features);
    data.columns = places.size();
    return data;
  }
  if (data.columns == schema.columns) return data;
  return fail(ErrorCode::kBadData,
              fmt::format("{} has {} features, and the model {}", where, data.columns, schema.columns),
              "give the columns that the model was trained on");
}

Result<std::unique_ptr<RowBlocks>> open_row_blocks(const DataOptions& options, const Schema& schema) {
  const std::string& spec = options.source;
  const auto path_after = [&](std::string_view kind) -> std::optional<fs::path> {
    if (!spec.starts_with(kind) || spec.size() == kind.size()) return std::nullopt;
    return spec.substr(kind.size());
  };
  if (const auto path = path_after("csv:")) return open_csv_blocks(*path, options.csv, schema);
  if (const auto path = path_after("libsvm:")) {
    MFL_TRY(TextParts parts, TextParts::open(*path, false));
    return std::make_unique<LibsvmBlocks>(std::move(parts), schema.columns);
  }
  if (const auto path = path_after("npy:")) return open_npy_blocks(*path, schema);
  return open_any_blocks(options, schema);
}

}  // namespace mfl
