#include "mfl/data/sources.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "mfl/base/files.h"
#include "mfl/data/cifar.h"
#include "mfl/data/idx.h"
#include "mfl/data/libsvm.h"
#include "mfl/data/npy.h"
#include "mfl/data/public_sets.h"
#include "mfl/data/synthetic.h"
#include "mfl/data/synthetic_fedprox.h"
#include "mfl/data/text.h"

namespace mfl {
namespace {

namespace fs = std::filesystem;

using Names = std::vector<std::string>;
using OpenFolder = Result<SourceParts> (*)(const fs::path& folder, const Names& classes);

SourceParts parts_in_memory(Dataset pool, std::optional<Dataset> test) {
  SourceParts parts{rows_in_memory(std::move(pool))};
  if (test) parts.test = rows_in_memory(*std::move(test));
  return parts;
}

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

// The images and labels of a part, read now where they are packed; null if neither is there.
Result<std::shared_ptr<RowSource>> open_idx_pair(const fs::path& folder, const std::string& part,
                                                 const Names& classes) {
  MFL_TRY(const auto images, find_part(folder, part + "-images"));
  MFL_TRY(const auto labels, find_part(folder, part + "-labels"));
  if (!images && !labels) return nullptr;
  if (!images || !labels)
    return bad_file(folder,
                    fmt::format("has {0}-{1} but no {0}-{2}", part, images ? "images" : "labels",
                                images ? "labels" : "images"),
                    "images and labels go together");
  MFL_TRY(std::shared_ptr<RowSource> rows, open_idx_rows(*images, *labels, classes));
  if (rows) return rows;
  MFL_TRY(Dataset data, read_idx(*images, *labels, classes));
  return rows_in_memory(std::move(data));
}

Result<SourceParts> open_idx(const fs::path& folder, const Names& classes) {
  MFL_TRY(auto train, open_idx_pair(folder, "train", classes));
  if (!train)
    return bad_file(folder, "no train-images and train-labels here",
                    "name the folder that holds the IDX files");
  MFL_TRY(auto test, open_idx_pair(folder, "t10k", classes));
  return SourceParts{std::move(train), std::move(test)};
}

Result<SourceParts> open_cifar10(const fs::path& folder, const Names&) {
  const CifarFiles files = cifar10_files(folder);
  MFL_TRY(Dataset train, read_cifar(files.train));
  MFL_TRY(Dataset test, read_cifar(files.test));
  return parts_in_memory(std::move(train), std::move(test));
}

Result<SourceParts> open_fetched(const PublicSet& set, OpenFolder open) {
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

Result<SourceParts> open_npy(const ParameterValues& values, const DataOptions&) {
  const fs::path folder = values.text();
  MFL_TRY(std::shared_ptr<RowSource> pool, open_npy_rows(folder / "x.npy", folder / "y.npy"));
  std::error_code ignored;
  if (!fs::exists(folder / "x_test.npy", ignored) && !fs::exists(folder / "y_test.npy", ignored))
    return SourceParts{std::move(pool)};
  MFL_TRY(std::shared_ptr<RowSource> test, open_npy_rows(folder / "x_test.npy", folder / "y_test.npy"));
  return SourceParts{std::move(pool), std::move(test)};
}

Result<SourceParts> open_csv(const ParameterValues& values, const DataOptions& options) {
  CsvOptions csv = options.csv;
  csv.max_columns = options.max_columns;
  MFL_TRY(Dataset data, read_csv(values.text(), csv));
  return parts_in_memory(std::move(data), std::nullopt);
}

Result<SourceParts> open_libsvm(const ParameterValues& values, const DataOptions&) {
  MFL_TRY(Dataset data, read_libsvm(values.text()));
  return parts_in_memory(std::move(data), std::nullopt);
}

Result<SourceParts> open_synthetic(const ParameterValues& values, const DataOptions& options) {
  constexpr std::size_t kRows = 10000, kColumns = 784, kTestRows = 5000;
  const std::string_view shape = values.text();
  if (shape.empty()) {
    MFL_TRY(std::shared_ptr<RowSource> pool, open_synthetic_rows(kRows, kColumns, options.seed));
    return SourceParts{std::move(pool), nullptr, kTestRows};
  }
  const std::size_t cross = std::min(shape.find('x'), shape.size());
  const auto rows = parse_count(shape.substr(0, cross));
  const auto columns = parse_count(shape.substr(std::min(cross + 1, shape.size())));
  if (!rows || !columns)
    return fail(ErrorCode::kBadConfig,
                fmt::format("bad data spec {}", excerpt(fmt::format("synthetic:{}", shape))),
                "write synthetic:ROWSxCOLUMNS, synthetic:10000x784 for example");
  MFL_TRY(std::shared_ptr<RowSource> pool, open_synthetic_rows(*rows, *columns, options.seed));
  return SourceParts{std::move(pool)};
}

Result<SourceParts> open_fedprox(const ParameterValues& values, const DataOptions& options) {
  FedproxSets sets = make_fedprox(
      {values.number("alpha"), values.number("beta"), static_cast<std::size_t>(values.count("users"))},
      options.seed);
  return parts_in_memory(std::move(sets.train), std::move(sets.test));
}

Result<SourceParts> open_memory(const ParameterValues&, const DataOptions& options) {
  if (options.memory == nullptr)
    return fail(ErrorCode::kBadConfig,
                "data memory: a program gave this data in memory, and it is not stored",
                "continue from that program, or save the arrays and use npy:DIR");
  return parts_in_memory(options.memory->train, options.memory->test);
}

SourceEntry fetched(const std::string& name, OpenFolder open, std::string description) {
  return {{.name = name, .description = std::move(description)},
          [name, open](const ParameterValues&, const DataOptions&) {
            return open_fetched(*find_public_set(name), open);
          },
          false,
          true};
}

SourceEntry idx_folders() {
  return {{.name = "idx", .description = "IDX files like those of MNIST, plain or gzipped", .text = "DIR"},
          [](const ParameterValues& values, const DataOptions&) { return open_idx(values.text(), {}); },
          false,
          true};
}

std::vector<SourceEntry> built_in_sources() {
  return {
      fetched("mnist", open_idx, "MNIST, from the cache that `mfl data fetch` fills"),
      fetched("fashion-mnist", open_idx, "Fashion-MNIST, from the same cache"),
      fetched("cifar10", open_cifar10, "CIFAR-10, from the same cache"),
      idx_folders(),
      {{.name = "csv", .description = "comma-separated values, one sample per line", .text = "FILE"},
       open_csv,
       true,
       false,
       true},
      {{.name = "libsvm", .description = "sparse rows as text, one sample per line", .text = "FILE"},
       open_libsvm,
       true},
      {{.name = "npy", .description = "arrays of NumPy", .text = "DIR"}, open_npy, true},
      {{.name = "synthetic",
        .description = "bytes in ten classes, much like MNIST; 10000x784 unless stated",
        .text = "ROWSxCOLUMNS",
        .text_optional = true},
       open_synthetic,
       false,
       true},
      {{.name = "synthetic-fedprox",
        .parameters = fedprox_parameters(),
        .description = "the users of the FedProx paper, each with a model of its own"},
       open_fedprox,
       false,
       true},
      {{.name = "fleet",
        .description = "devices that make their own rows when they run",
        .text = "SAMPLESxCOLUMNS",
        .text_optional = true},
       {},
       false,
       true},
  };
}

const SourceEntry& memory_source() {
  static const SourceEntry entry{{.name = "memory"}, open_memory, true};
  return entry;
}

}  // namespace

Catalog<SourceEntry>& sources() {
  static Catalog<SourceEntry> catalog("data source", built_in_sources());
  return catalog;
}

Result<Spec<SourceEntry>> parse_source(std::string_view spec) {
  if (const SourceEntry& memory = memory_source(); spec == memory.name)
    return Spec<SourceEntry>{&memory, {}, memory.name};
  return parse_spec(spec, sources());
}

const SourceEntry* find_source(std::string_view spec) {
  if (const SourceEntry& memory = memory_source(); spec == memory.name) return &memory;
  return sources().find(spec.substr(0, spec.find_first_of("(: ")));
}

Result<std::string> source_text(std::string_view spec) {
  MFL_TRY(const auto parsed, parse_source(spec));
  return parsed.entry->name + std::string(spec.substr(std::min(spec.find_first_of("(:"), spec.size())));
}

}  // namespace mfl
