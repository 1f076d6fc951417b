#include "mfl/data/source.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <string_view>
#include <utility>

#include "mfl/base/files.h"
#include "mfl/base/nearest.h"
#include "mfl/base/rng.h"
#include "mfl/data/cifar.h"
#include "mfl/data/fleet.h"
#include "mfl/data/idx.h"
#include "mfl/data/libsvm.h"
#include "mfl/data/npy.h"
#include "mfl/data/public_sets.h"
#include "mfl/data/schema.h"
#include "mfl/data/synthetic.h"
#include "mfl/data/synthetic_fedprox.h"
#include "mfl/data/text.h"

namespace mfl {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMemory = "memory";
constexpr std::array<std::string_view, 11> kKinds = {
    "mnist",     "fashion-mnist", "cifar10",           "idx",  "csv", "libsvm", "npy",
    "synthetic", "fleet",         "synthetic-fedprox", kMemory};
constexpr const char* kSpecs =
    "specs are: mnist, fashion-mnist, cifar10, idx:DIR, csv:FILE, libsvm:FILE, npy:DIR, "
    "synthetic[:ROWSxCOLUMNS], "
    "synthetic-fedprox(ALPHA, BETA), fleet[:SAMPLESxCOLUMNS]";
constexpr std::size_t kSyntheticRows = 10000;
constexpr std::size_t kSyntheticColumns = 784;
constexpr std::size_t kSyntheticTest = 5000;

// A whole source: `pool` is its training part, or all of it where it has no test part.
struct Parts {
  Dataset pool;
  std::optional<Dataset> test;
};

// The file in `folder` whose name holds `part`, plain before .gz; nothing if there is none.
Result<std::optional<fs::path>> find_part(const fs::path& folder, std::string_view part) {
  std::error_code error;
  std::vector<fs::path> found;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    if (entry->path().filename().string().find(part) != std::string::npos) found.push_back(entry->path());
  if (error)
    return bad_file(folder, fmt::format("cannot read the folder: {}", error.message()), "check the path");
  if (found.empty()) return std::nullopt;
  std::sort(found.begin(), found.end());  // a name sorts before itself with .gz
  for (const fs::path& other : found)
    if (other != found[0] && other.string() != found[0].string() + ".gz")
      return bad_file(folder,
                      fmt::format("more than one file could be {}: {} and {}", part,
                                  found[0].filename().string(), other.filename().string()),
                      "leave only one of them in the folder");
  return found[0];
}

struct IdxPair {
  fs::path images, labels;
};

// Nothing if neither is there.
Result<std::optional<IdxPair>> find_pair(const fs::path& folder, const std::string& part) {
  MFL_TRY(const auto images, find_part(folder, part + "-images"));
  MFL_TRY(const auto labels, find_part(folder, part + "-labels"));
  if (!images && !labels) return std::nullopt;
  if (!images || !labels)
    return bad_file(folder,
                    fmt::format("has {0}-{1} but no {0}-{2}", part, images ? "images" : "labels",
                                images ? "labels" : "images"),
                    "images and labels go together");
  return IdxPair{*images, *labels};
}

struct IdxFiles {
  IdxPair train;
  std::optional<IdxPair> test;
};

using Names = std::vector<std::string>;

Result<IdxFiles> find_idx(const fs::path& folder) {
  MFL_TRY(const auto train, find_pair(folder, "train"));
  if (!train)
    return bad_file(folder, "no train-images and train-labels here",
                    "name the folder that holds the IDX files");
  MFL_TRY(const auto test, find_pair(folder, "t10k"));
  return IdxFiles{*train, test};
}

Result<Parts> open_idx(const fs::path& folder, const Names& classes) {
  MFL_TRY(const IdxFiles files, find_idx(folder));
  MFL_TRY(Dataset train, read_idx(files.train.images, files.train.labels, classes));
  if (!files.test) return Parts{std::move(train), std::nullopt};
  MFL_TRY(Dataset test, read_idx(files.test->images, files.test->labels, classes));
  return Parts{std::move(train), std::move(test)};
}

// `open` is how the folder of its files is opened.
template <class Open>
auto open_fetched(const PublicSet& set, const Open& open) -> decltype(open(fs::path(), Names())) {
  const fs::path folder = cache_folder() / set.name;
  const std::string hint = "run: mfl data fetch " + set.name;
  std::error_code ignored;
  if (!fs::exists(folder, ignored))
    return fail(ErrorCode::kBadData,
                fmt::format("{} not found: {} does not exist", set.title, folder.string()), hint);
  auto parts = open(folder, digit_classes());
  if (!parts) parts.error().hint = hint;
  return parts;
}

Result<Parts> open_cifar10(const fs::path& folder, const Names&) {
  const CifarFiles files = cifar10_files(folder);
  MFL_TRY(Dataset train, read_cifar(files.train));
  MFL_TRY(Dataset test, read_cifar(files.test));
  return Parts{std::move(train), std::move(test)};
}

Result<Parts> open_fedprox(const std::string& spec, std::uint64_t seed) {
  MFL_TRY(const FedproxShape shape, parse_fedprox(spec));
  FedproxSets sets = make_fedprox(shape, seed);
  return Parts{std::move(sets.train), std::move(sets.test)};
}

bool has_test_npy(const fs::path& folder) {
  std::error_code ignored;
  return fs::exists(folder / "x_test.npy", ignored) || fs::exists(folder / "y_test.npy", ignored);
}

Result<Parts> open_npy(const fs::path& folder) {
  MFL_TRY(Dataset pool, read_npy(folder / "x.npy", folder / "y.npy"));
  if (!has_test_npy(folder)) return Parts{std::move(pool), std::nullopt};
  MFL_TRY(Dataset test, read_npy(folder / "x_test.npy", folder / "y_test.npy"));
  return Parts{std::move(pool), std::move(test)};
}

struct SyntheticShape {
  std::size_t rows, columns;
};

Result<SyntheticShape> parse_synthetic(const std::string& spec, std::string_view shape) {
  std::optional<std::uint64_t> rows = kSyntheticRows;
  std::optional<std::uint64_t> columns = kSyntheticColumns;
  if (!shape.empty()) {
    const std::size_t cross = std::min(shape.find('x'), shape.size());
    rows = parse_count(shape.substr(0, cross));
    columns = parse_count(shape.substr(std::min(cross + 1, shape.size())));
  }
  if (!rows || !columns)
    return fail(ErrorCode::kBadConfig, fmt::format("bad data spec {}", excerpt(spec)),
                "write synthetic:ROWSxCOLUMNS, synthetic:10000x784 for example");
  return SyntheticShape{*rows, *columns};
}

Result<Parts> open_synthetic(const std::string& spec, std::string_view shape, std::uint64_t seed) {
  MFL_TRY(const auto size, parse_synthetic(spec, shape));
  MFL_TRY(Dataset pool, make_synthetic(size.rows, size.columns, seed));
  return Parts{std::move(pool), std::nullopt};
}

Result<Parts> open_memory(const TrainTest* memory) {
  if (memory == nullptr)
    return fail(ErrorCode::kBadConfig,
                "data memory: a program gave this data in memory, and it is not stored",
                "continue from that program, or save the arrays and use npy:DIR");
  return Parts{memory->train, memory->test};
}

tl::unexpected<Error> unknown_kind(const std::string& spec, std::string_view kind) {
  const std::string near = nearest(kind, kKinds);
  return fail(ErrorCode::kBadConfig, fmt::format("unknown data spec {}", excerpt(spec)),
              near.empty() ? kSpecs : fmt::format("did you mean {}? {}", near, kSpecs));
}

struct SourceSpec {
  std::string_view kind;
  std::string argument;
};

Result<SourceSpec> parse_source_spec(const std::string& spec) {
  if (is_fedprox(spec)) return SourceSpec{"synthetic-fedprox", {}};
  const std::size_t colon = std::min(spec.find(':'), spec.size());
  const std::string_view kind = std::string_view(spec).substr(0, colon);
  const std::string argument = spec.substr(std::min(colon + 1, spec.size()));
  if (std::find(kKinds.begin(), kKinds.end(), kind) == kKinds.end()) return unknown_kind(spec, kind);
  if (is_fleet(spec))
    return fail(ErrorCode::kBadConfig,
                fmt::format("{} has no rows to read: each node makes its own when it runs", excerpt(spec)),
                "use it with mfl run or mfl sweep; synthetic is a stored set of the same classes");
  const bool fetched = find_public_set(kind) != nullptr;
  const bool needs = !fetched && kind != "synthetic" && kind != kMemory;
  if ((needs && argument.empty()) || ((fetched || kind == kMemory) && colon < spec.size()))
    return fail(ErrorCode::kBadConfig,
                fmt::format("data spec {} {} a path", excerpt(spec), needs ? "lacks" : "does not take"),
                kSpecs);
  return SourceSpec{kind, argument};
}

Result<Parts> open_kind(const std::string& spec, const DataOptions& options) {
  MFL_TRY(const auto parsed, parse_source_spec(spec));
  const auto& [kind, argument] = parsed;
  if (const PublicSet* set = find_public_set(kind))
    return kind == "cifar10" ? open_fetched(*set, open_cifar10) : open_fetched(*set, open_idx);
  if (kind == "synthetic-fedprox") return open_fedprox(spec, options.seed);
  if (kind == "idx") return open_idx(argument, {});
  if (kind == "npy") return open_npy(argument);
  if (kind == kMemory) return open_memory(options.memory);
  if (kind == "synthetic") return open_synthetic(spec, argument, options.seed);
  CsvOptions csv = options.csv;
  csv.max_columns = options.max_columns;
  auto pool = kind == "csv" ? read_csv(argument, csv) : read_libsvm(argument);
  MFL_TRY(Dataset data, std::move(pool));
  return Parts{std::move(data), std::nullopt};
}

Result<void> check_size(const std::string& spec, std::size_t rows, std::size_t columns,
                        const DataOptions& options) {
  if (columns > options.max_columns) return too_many_columns(spec, columns, options.max_columns);
  if (rows <= std::numeric_limits<std::uint32_t>::max()) return {};
  return fail(ErrorCode::kBadData, fmt::format("{} has {} samples, more than 4294967295", spec, rows),
              "use a part of it");
}

Result<Parts> open(const std::string& spec, const DataOptions& options) {
  MFL_TRY(Parts parts, open_kind(spec, options));
  for (Dataset* data : {&parts.pool, parts.test ? &*parts.test : nullptr}) {
    if (data == nullptr) continue;
    MFL_CHECK(check_size(spec, data->rows, data->columns, options));
    if (options.scale) data->scale = *options.scale;
  }
  return parts;
}

using mfl::is_sparse;
bool is_sparse(const RowShape& shape) { return shape.sparse; }

// Sparse sets grow to the wider one: columns that a file never names are zero.
template <class Set>
Result<void> match_columns(Set& train, Set& test, const DataOptions& options) {
  const std::size_t widest = std::max(train.columns, test.columns);
  for (Set* data : {&train, &test})
    if (is_sparse(*data)) data->columns = widest;
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

Result<void> check_enough(std::size_t asked, std::size_t available, std::string_view what,
                          const std::string& source) {
  if (asked <= available) return {};
  return fail(ErrorCode::kBadData,
              fmt::format("{} {} samples asked for, but {} has {}", asked, what, source, available),
              fmt::format("ask for at most {}", available));
}

// The first `count` of `rows`, in order or drawn.
std::vector<std::uint32_t> draw_rows(const std::vector<std::uint32_t>& rows, std::size_t count,
                                     const DataOptions& options, Purpose purpose) {
  if (options.take == Take::kFirst) return {rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(count)};
  std::vector<std::uint32_t> order = permutation(rows.size(), Stream(options.seed, purpose));
  order.resize(count);
  for (std::uint32_t& row : order) row = rows[row];
  return order;
}

std::vector<std::uint32_t> all_rows(std::size_t count) {
  std::vector<std::uint32_t> rows(count);
  std::iota(rows.begin(), rows.end(), 0U);
  return rows;
}

// Which rows are taken: of two parts, or test rows from those that training leaves.
struct Selection {
  std::vector<std::uint32_t> train;
  std::optional<std::vector<std::uint32_t>> test;
};

Result<Selection> select_from_two(std::size_t pool_rows, std::size_t test_rows, const DataOptions& options) {
  const std::size_t train = options.train.value_or(pool_rows);
  const std::size_t test = options.test.value_or(test_rows);
  MFL_CHECK(check_enough(train, pool_rows, "training", options.source));
  MFL_CHECK(check_enough(test, test_rows, "test",
                         options.test_source.empty() ? options.source : options.test_source));
  Selection selection{draw_rows(all_rows(pool_rows), train, options, Purpose::kTakeTrain), std::nullopt};
  if (test > 0) selection.test = draw_rows(all_rows(test_rows), test, options, Purpose::kTakeTest);
  return selection;
}

Result<Selection> select_fold(std::size_t rows, const DataOptions& options) {
  MFL_CHECK(check_enough(options.folds, rows, "differently folded", options.source));
  const std::vector<std::uint32_t> order = permutation(rows, Stream(options.seed, Purpose::kTakeTest));
  std::vector<bool> tested(rows);
  for (std::size_t i = rows * options.fold / options.folds; i < rows * (options.fold + 1) / options.folds;
       ++i)
    tested[order[i]] = true;
  Selection selection{{}, std::vector<std::uint32_t>{}};
  for (std::uint32_t row = 0; row < rows; ++row)
    (tested[row] ? *selection.test : selection.train).push_back(row);
  return selection;
}

Result<Selection> select_from_pool(std::size_t rows, const DataOptions& options) {
  if (options.folds != 0) return select_fold(rows, options);
  MFL_CHECK(check_enough(options.train.value_or(0), rows, "training", options.source));
  MFL_CHECK(check_enough(options.test.value_or(0), rows, "test", options.source));
  const std::size_t left = options.train ? rows - *options.train : 0;
  const bool plain_synthetic = options.source == "synthetic" && options.test_source.empty();
  const std::size_t unsaid = plain_synthetic ? std::min(kSyntheticTest, options.train ? left : rows) : left;
  const std::size_t test = options.test.value_or(unsaid);
  const std::size_t train = options.train.value_or(rows - test);
  if (train == 0 || train > rows - test)
    return fail(
        ErrorCode::kBadData,
        fmt::format("{} training and {} test samples asked for, but {} has {} in all",
                    options.train ? fmt::format("{}", train) : "all remaining", test, options.source, rows),
        "ask for less, or name a test source of its own");
  Selection selection{draw_rows(all_rows(rows), train, options, Purpose::kTakeTrain), std::nullopt};
  if (test == 0) return selection;
  std::vector<bool> taken(rows);
  for (const std::uint32_t row : selection.train) taken[row] = true;
  std::vector<std::uint32_t> rest;
  for (std::uint32_t row = 0; row < rows; ++row)
    if (!taken[row]) rest.push_back(row);
  selection.test = draw_rows(rest, test, options, Purpose::kTakeTest);
  return selection;
}

// Moves where all are taken in their order.
Dataset take(Dataset data, const std::vector<std::uint32_t>& rows) {
  const bool all = rows.size() == data.rows && std::ranges::is_sorted(rows);
  return all ? data : take_rows(data, rows);
}

// What only a CSV file can be read with.
Result<void> check_csv_options(const DataOptions& options) {
  const auto is_csv = [](std::string_view spec) { return spec.starts_with("csv:"); };
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

// As Parts, with rows that are read later.
struct RowParts {
  std::shared_ptr<const RowSource> pool, test;
};

// Read now where the file is packed.
Result<std::shared_ptr<const RowSource>> open_pair_rows(const IdxPair& pair, const Names& classes) {
  MFL_TRY(std::shared_ptr<const RowSource> rows, open_idx_rows(pair.images, pair.labels, classes));
  if (rows) return rows;
  MFL_TRY(Dataset data, read_idx(pair.images, pair.labels, classes));
  return rows_in_memory(std::move(data));
}

Result<RowParts> open_idx_folder(const fs::path& folder, const Names& classes) {
  MFL_TRY(const IdxFiles files, find_idx(folder));
  MFL_TRY(auto train, open_pair_rows(files.train, classes));
  if (!files.test) return RowParts{std::move(train), nullptr};
  MFL_TRY(auto test, open_pair_rows(*files.test, classes));
  return RowParts{std::move(train), std::move(test)};
}

Result<RowParts> open_npy_folder(const fs::path& folder) {
  MFL_TRY(std::shared_ptr<const RowSource> pool, open_npy_rows(folder / "x.npy", folder / "y.npy"));
  if (!has_test_npy(folder)) return RowParts{std::move(pool), nullptr};
  MFL_TRY(std::shared_ptr<const RowSource> test, open_npy_rows(folder / "x_test.npy", folder / "y_test.npy"));
  return RowParts{std::move(pool), std::move(test)};
}

Result<RowParts> open_row_kind(const std::string& spec, const DataOptions& options) {
  MFL_TRY(const auto parsed, parse_source_spec(spec));
  const auto& [kind, argument] = parsed;
  if (const PublicSet* set = find_public_set(kind); set != nullptr && kind != "cifar10")
    return open_fetched(*set, open_idx_folder);
  if (kind == "idx") return open_idx_folder(argument, {});
  if (kind == "npy") return open_npy_folder(argument);
  if (kind == "synthetic") {
    MFL_TRY(const auto size, parse_synthetic(spec, argument));
    MFL_TRY(std::shared_ptr<const RowSource> pool,
            open_synthetic_rows(size.rows, size.columns, options.seed));
    return RowParts{std::move(pool), nullptr};
  }
  MFL_TRY(Parts parts, open_kind(spec, options));
  RowParts rows{rows_in_memory(std::move(parts.pool)), nullptr};
  if (parts.test) rows.test = rows_in_memory(*std::move(parts.test));
  return rows;
}

Result<RowParts> open_row_parts(const std::string& spec, const DataOptions& options) {
  MFL_TRY(RowParts parts, open_row_kind(spec, options));
  for (const RowSource* rows : {parts.pool.get(), parts.test.get()})
    if (rows != nullptr) MFL_CHECK(check_size(spec, rows->shape().rows, rows->shape().columns, options));
  return parts;
}

}  // namespace

bool is_own_data(std::string_view source) {
  const std::string_view kind = source.substr(0, source.find(':'));
  return kind == "csv" || kind == "libsvm" || kind == "npy" || kind == kMemory;
}

Result<TrainTest> load(const DataOptions& options) {
  MFL_CHECK(check_options(options));
  MFL_TRY(Parts parts, open(options.source, options));
  if (!options.test_source.empty() && options.test != 0) {
    MFL_TRY(Parts other, open(options.test_source, options));
    parts.test = other.test ? *std::move(other.test) : std::move(other.pool);
  }
  if (options.folds != 0) parts.test.reset();
  TrainTest sets;
  if (parts.test) {
    MFL_CHECK(match_columns(parts.pool, *parts.test, options));
    MFL_CHECK(match_names(columns_of(parts.pool.origin, parts.pool.columns),
                          columns_of(parts.test->origin, parts.test->columns), options));
    MFL_TRY(const Selection rows, select_from_two(parts.pool.rows, parts.test->rows, options));
    sets.train = take(std::move(parts.pool), rows.train);
    if (rows.test) sets.test = take(*std::move(parts.test), *rows.test);
    return sets;
  }
  MFL_TRY(const Selection rows, select_from_pool(parts.pool.rows, options));
  if (rows.test) sets.test = take_rows(parts.pool, *rows.test);
  sets.train = take(std::move(parts.pool), rows.train);
  return sets;
}

Result<TrainTestRows> open_rows(const DataOptions& options) {
  MFL_CHECK(check_options(options));
  MFL_TRY(RowParts parts, open_row_parts(options.source, options));
  if (!options.test_source.empty() && options.test != 0) {
    MFL_TRY(const RowParts other, open_row_parts(options.test_source, options));
    parts.test = other.test ? other.test : other.pool;
  }
  if (options.folds != 0) parts.test.reset();
  auto selected = parts.test ? select_from_two(parts.pool->shape().rows, parts.test->shape().rows, options)
                             : select_from_pool(parts.pool->shape().rows, options);
  MFL_TRY(Selection rows, std::move(selected));
  TrainTestRows sets{SomeRows(parts.pool, std::move(rows.train)), std::nullopt};
  if (rows.test) sets.test.emplace(parts.test ? parts.test : parts.pool, *std::move(rows.test));
  if (options.scale) sets.train.shape().scale = *options.scale;
  if (options.scale && sets.test) sets.test->shape().scale = *options.scale;
  if (parts.test) {
    RowShape test = sets.test ? sets.test->shape() : parts.test->shape();
    MFL_CHECK(match_columns(sets.train.shape(), test, options));
    if (sets.test) sets.test->shape() = test;
    MFL_CHECK(match_names(columns_of(parts.pool->origin(), test.columns),
                          columns_of(parts.test->origin(), test.columns), options));
  }
  return sets;
}

}  // namespace mfl
