#include "tests/fuzz/datasets.h"

#include <algorithm>
#include <cmath>

#include "tests/fuzz/fuzz.h"

namespace mfl::fuzz {
namespace {

bool all_finite(const auto& values) {
  return std::ranges::all_of(values, [](auto value) { return std::isfinite(static_cast<double>(value)); });
}

template <class X>
void require_features(const DenseRows<X>& dense, const Dataset& data) {
  require(dense.values.size() == data.rows * data.columns, "rows x columns numbers");
  require(all_finite(dense.values), "finite features");
}

template <class X>
void require_features(const SparseRows<X>& sparse, const Dataset& data) {
  require(sparse.starts.size() == data.rows + 1 && sparse.starts.front() == 0, "a start for each row");
  require(sparse.starts.back() == sparse.values.size(), "the last row ends where the values do");
  require(sparse.columns.size() == sparse.values.size(), "a column for each value");
  require(std::ranges::is_sorted(sparse.starts), "starts ascend");
  require(all_finite(sparse.values), "finite features");
  for (std::size_t row = 0; row < data.rows; ++row)
    for (std::uint64_t i = sparse.starts[row]; i < sparse.starts[row + 1]; ++i)
      require(sparse.columns[i] < data.columns &&
                  (i == sparse.starts[row] || sparse.columns[i - 1] < sparse.columns[i]),
              "columns of a row ascend and are within the set");
}

}  // namespace

void require_whole(const Dataset& data) {
  require(data.rows > 0 && data.columns > 0, "a set has rows and columns");
  require(data.labels.size() == data.rows, "a label for each row");
  require(all_finite(data.labels), "finite labels");
  visit_owned([&](const auto& features) { require_features(features, data); }, data.features);
}

void require_error(const Error& error) {
  require(error.code == ErrorCode::kBadData || error.code == ErrorCode::kBadConfig,
          "the error blames the input");
  require(!error.message.empty() && error.message.find('\n') == std::string::npos, "a message on one line");
  require(!error.hint.empty(), "a hint");
}

void require_same(const Dataset& data, const Result<Dataset>& again) {
  require(again.has_value(), "what was written is read");
  require(data_digest(data) == data_digest(*again), "what was written is read with the same bits");
}

}  // namespace mfl::fuzz
