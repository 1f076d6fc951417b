#include "mfl/trained/labelled_rows.h"

#include <fmt/core.h>

#include "mfl/data/libsvm.h"

namespace mfl {
namespace {

constexpr std::string_view kCsv = "csv:", kLibsvm = "libsvm:";

Result<Dataset> read(const DataOptions& options, const Schema& schema) {
  const std::string& spec = options.source;
  if (spec.starts_with(kCsv) && spec.size() > kCsv.size()) {
    CsvOptions csv = options.csv;
    if (csv.header != CsvHeader::kNo) csv.features = schema.features;
    return read_csv(spec.substr(kCsv.size()), csv);
  }
  if (spec.starts_with(kLibsvm) && spec.size() > kLibsvm.size())
    return read_libsvm(spec.substr(kLibsvm.size()), schema.columns);
  DataOptions both = options;
  both.test_source = spec;
  MFL_TRY(TrainTest loaded, load(both));
  return *std::move(loaded.test);
}

}  // namespace

Result<Dataset> labelled_rows(const DataOptions& options, const Schema& schema) {
  MFL_TRY(Dataset data, read(options, schema));
  if (data.columns == schema.columns) return data;
  return fail(
      ErrorCode::kBadData,
      fmt::format("{} has {} features, and the model {}", options.source, data.columns, schema.columns),
      "give the columns that the model was trained on");
}

}  // namespace mfl
