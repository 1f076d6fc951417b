#include "mfl/data/source.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "mfl/data/schema.h"
#include "mfl/data/select_rows.h"
#include "mfl/data/sources.h"
#include "mfl/data/text.h"

namespace mfl {
namespace {

// What only a CSV file can be read with.
Result<void> check_csv_options(const DataOptions& options) {
  const auto is_csv = [](std::string_view spec) {
    const SourceEntry* const entry = find_source(spec);
    return entry != nullptr && entry->csv_options;
  };
  if (!options.csv.group.empty() && !is_csv(options.source))
    return fail(ErrorCode::kBadConfig,
                fmt::format("nodes by column {} are for CSV files, and the data is {}",
                            excerpt(options.csv.group), excerpt(options.source)),
                "use another partition, or give the data as csv:FILE");
  if (is_csv(options.source) || is_csv(options.test_source)) return {};
  const std::string_view given = !options.csv.drop.empty()                         ? "drop"
                                 : !options.csv.features.empty()                   ? "features"
                                 : options.csv.separator != CsvOptions{}.separator ? "separator"
                                                                                   : "";
  if (given.empty()) return {};
  return fail(ErrorCode::kBadConfig,
              fmt::format("{} is for CSV files, and the data is {}", given, excerpt(options.source)),
              fmt::format("leave out {}, or give the data as csv:FILE", given));
}

Result<void> check_options(const DataOptions& options) {
  MFL_CHECK(check_csv_options(options));
  if (options.scale && !(std::isfinite(*options.scale) && *options.scale > 0))
    return fail(ErrorCode::kBadConfig, fmt::format("scale {} is not a positive number", *options.scale),
                "1/255 = 0.00392156862745098 for bytes");
  if (options.folds != 0 && (options.train || options.test || !options.test_source.empty()))
    return fail(ErrorCode::kBadConfig, "folds divide all rows into those to train and those to test",
                "leave out train, test and test_source");
  if (options.train == 0)
    return fail(ErrorCode::kBadConfig, "0 training samples asked for", "ask for at least 1");
  return {};
}

Result<void> check_size(const std::string& spec, const RowShape& shape, const DataOptions& options) {
  if (shape.columns > options.max_columns) return too_many_columns(spec, shape.columns, options.max_columns);
  if (shape.rows <= std::numeric_limits<std::uint32_t>::max()) return {};
  return fail(ErrorCode::kBadData, fmt::format("{} has {} samples, more than 4294967295", spec, shape.rows),
              "use a part of it");
}

Result<SourceParts> open_parts(const std::string& spec, const DataOptions& options) {
  MFL_TRY(const auto source, parse_source(spec));
  if (!source.entry->open)
    return fail(ErrorCode::kBadConfig,
                fmt::format("{} has no rows to read: each node makes its own when it runs", excerpt(spec)),
                "use it with mfl run or mfl sweep; synthetic is a stored set of the same classes");
  MFL_TRY(SourceParts parts, source.entry->open(source.values, options));
  for (const RowSource* rows : {parts.pool.get(), parts.test.get()})
    if (rows != nullptr) MFL_CHECK(check_size(spec, rows->shape(), options));
  return parts;
}

// Sparse sets grow to the wider one: columns that a file never names are zero.
Result<void> match_columns(RowShape& train, RowShape& test, const DataOptions& options) {
  const std::size_t widest = std::max(train.columns, test.columns);
  for (RowShape* shape : {&train, &test})
    if (shape->sparse) shape->columns = widest;
  if (train.columns == test.columns) return {};
  return fail(ErrorCode::kBadData,
              fmt::format("{}: {} columns for training, {} for testing{}", options.source, train.columns,
                          test.columns, options.test_source.empty() ? "" : " (" + options.test_source + ")"),
              "both must have the same features");
}

Schema columns_of(const std::shared_ptr<const Origin>& origin, std::size_t columns) {
  Schema schema;
  schema.columns = columns;
  if (origin) {
    schema.features = origin->features;
    schema.label = origin->label;
  }
  return schema;
}

// A test source of its own may have other columns; where it has no names there is nothing to compare.
Result<void> match_names(const Schema& train, const Schema& test, const DataOptions& options) {
  if (options.test_source.empty() || train.features.empty() || test.features.empty()) return {};
  const auto found = difference(train, test);
  if (!found) return {};
  return fail(ErrorCode::kBadData,
              fmt::format("the test data {} does not fit the training data: {}", options.test_source, *found),
              "both must have the same columns in the same order");
}

}  // namespace

bool is_own_data(std::string_view source) {
  const SourceEntry* const entry = find_source(source);
  return entry != nullptr && entry->own_data;
}

Result<TrainTestRows> open_rows(const DataOptions& options) {
  MFL_CHECK(check_options(options));
  MFL_TRY(SourceParts parts, open_parts(options.source, options));
  if (!options.test_source.empty() && options.test != 0) {
    MFL_TRY(const SourceParts other, open_parts(options.test_source, options));
    parts.test = other.test ? other.test : other.pool;
  }
  if (options.folds != 0) parts.test.reset();
  RowShape train = parts.pool->shape(), test = (parts.test ? parts.test : parts.pool)->shape();
  if (parts.test) {
    MFL_CHECK(match_columns(train, test, options));
    MFL_CHECK(match_names(columns_of(parts.pool->origin(), train.columns),
                          columns_of(parts.test->origin(), test.columns), options));
  }
  if (options.scale) train.scale = test.scale = *options.scale;
  MFL_TRY(RowSelection rows, parts.test ? select_from_two(train.rows, test.rows, options)
                                        : select_from_pool(train.rows, parts.test_rows, options));
  TrainTestRows sets{SomeRows(parts.pool, std::move(rows.train)), std::nullopt};
  sets.train.shape() = train;
  if (!rows.test) return sets;
  sets.test.emplace(parts.test ? parts.test : parts.pool, *std::move(rows.test));
  sets.test->shape() = test;
  return sets;
}

Result<TrainTest> load(const DataOptions& options) {
  MFL_TRY(TrainTestRows rows, open_rows(options));
  TrainTest sets;
  MFL_TRY(sets.train, std::move(rows.train).take());
  if (!rows.test) return sets;
  MFL_TRY(sets.test, std::move(*rows.test).take());
  return sets;
}

}  // namespace mfl
