#include "mfl/data/describe.h"

#include <algorithm>

namespace mfl {
namespace {

constexpr const char* kStorage[] = {"bytes", "f32", "f64", "sparse f32", "sparse f64"};

struct Tally {
  double min = 0;
  double max = 0;
  std::size_t nonzero = 0;
  std::vector<bool> used;  // per column

  void add(double value, std::size_t column) {
    min = std::min(min, value);
    max = std::max(max, value);
    if (value == 0) return;
    ++nonzero;
    used[column] = true;
  }
};

template <class X>
void tally(const DenseRows<X>& rows, const Dataset& data, Tally& out) {
  if (!rows.values.empty()) out.min = out.max = static_cast<double>(rows.values.front());
  for (std::size_t row = 0; row < data.rows; ++row)
    for (std::size_t column = 0; column < data.columns; ++column)
      out.add(static_cast<double>(rows.values[row * data.columns + column]), column);
}

template <class X>
void tally(const SparseRows<X>& rows, const Dataset& data, Tally& out) {
  const bool full = rows.values.size() == data.rows * data.columns;
  if (full && !rows.values.empty()) out.min = out.max = static_cast<double>(rows.values.front());
  for (std::size_t i = 0; i < rows.values.size(); ++i)
    out.add(static_cast<double>(rows.values[i]), rows.columns[i]);
}

void describe_labels(const std::vector<double>& labels, Description& out) {
  if (labels.empty()) return;
  const auto [least, most] = std::minmax_element(labels.begin(), labels.end());
  out.label_min = *least;
  out.label_max = *most;
  double mean = 0;
  bool counting = true;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    mean += (labels[i] - mean) / static_cast<double>(i + 1);
    if (counting) ++out.classes[labels[i]];
    counting = counting && out.classes.size() <= Description::kMostClasses;
  }
  if (!counting) out.classes.clear();
  out.label_mean = mean;
}

}  // namespace

Description describe(const Dataset& data) {
  Description out;
  out.rows = data.rows;
  out.columns = data.columns;
  out.storage = kStorage[data.features.index()];
  out.scale = data.scale;
  Tally seen;
  seen.used.resize(data.columns);
  visit_owned([&](const auto& rows) { tally(rows, data, seen); }, data.features);
  out.min = data.scale * seen.min;
  out.max = data.scale * seen.max;
  const double cells = static_cast<double>(data.rows) * static_cast<double>(data.columns);
  out.nonzero_share = cells > 0 ? static_cast<double>(seen.nonzero) / cells : 0;
  out.zero_columns = static_cast<std::size_t>(std::count(seen.used.begin(), seen.used.end(), false));
  describe_labels(data.labels, out);
  return out;
}

}  // namespace mfl
