#include "mfl/data/dataset.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <type_traits>
#include <utility>

#include "mfl/base/digest.h"

namespace mfl {
namespace {

static_assert(std::endian::native == std::endian::little, "digests and NPY files are little-endian");

template <class X>
DenseRows<X> pick(const DenseRows<X>& from, std::size_t columns, std::span<const std::uint32_t> rows) {
  DenseRows<X> to;
  to.values.resize(rows.size() * columns);
  auto out = to.values.begin();
  for (const std::size_t row : rows) out = std::copy_n(from.values.data() + row * columns, columns, out);
  return to;
}

template <class X>
SparseRows<X> pick(const SparseRows<X>& from, std::size_t, std::span<const std::uint32_t> rows) {
  SparseRows<X> to;
  std::size_t entries = 0;
  for (const std::size_t row : rows) entries += from.starts[row + 1] - from.starts[row];
  to.columns.reserve(entries);
  to.values.reserve(entries);
  to.starts.reserve(rows.size() + 1);
  to.starts.push_back(0);
  for (const std::size_t row : rows) {
    const std::size_t begin = from.starts[row];
    const std::size_t count = from.starts[row + 1] - begin;
    to.columns.insert(to.columns.end(), from.columns.data() + begin, from.columns.data() + begin + count);
    to.values.insert(to.values.end(), from.values.data() + begin, from.values.data() + begin + count);
    to.starts.push_back(to.columns.size());
  }
  return to;
}

template <class To, class From>
std::vector<To> converted(const std::vector<From>& from) {
  std::vector<To> to(from.size());
  std::transform(from.begin(), from.end(), to.begin(), [](From x) { return static_cast<To>(x); });
  return to;
}

template <class To>
Features as_floating(Features features) {
  using From = std::conditional_t<std::is_same_v<To, float>, double, float>;
  if (auto* dense = std::get_if<DenseRows<From>>(&features))
    return DenseRows<To>{converted<To>(dense->values)};
  if (auto* sparse = std::get_if<SparseRows<From>>(&features))
    return SparseRows<To>{std::move(sparse->starts), std::move(sparse->columns),
                          converted<To>(sparse->values)};
  return features;
}

template <class T>
void add(Sha256& hash, const std::vector<T>& values) {
  hash.update(std::as_bytes(std::span(values)));
}

template <class X>
void add(Sha256& hash, const DenseRows<X>& dense) {
  add(hash, dense.values);
}

template <class X>
void add(Sha256& hash, const SparseRows<X>& sparse) {
  hash.update(std::uint64_t{sparse.values.size()});
  add(hash, sparse.starts);
  add(hash, sparse.columns);
  add(hash, sparse.values);
}

}  // namespace

Dataset take_rows(const Dataset& data, std::span<const std::uint32_t> rows) {
  assert(std::all_of(rows.begin(), rows.end(), [&](std::uint32_t row) { return row < data.rows; }));
  Dataset taken{
      .rows = rows.size(), .columns = data.columns, .scale = data.scale, .features = {}, .labels = {}};
  taken.features =
      std::visit([&](const auto& from) -> Features { return pick(from, data.columns, rows); }, data.features);
  taken.labels.reserve(rows.size());
  for (const std::uint32_t row : rows) taken.labels.push_back(data.labels[row]);
  return taken;
}

Dataset with_precision(Dataset data, Precision precision) {
  data.features = precision == Precision::kF32 ? as_floating<float>(std::move(data.features))
                                               : as_floating<double>(std::move(data.features));
  return data;
}

std::string data_digest(const Dataset& data) {
  Sha256 hash;
  hash.update("mfl dataset 1");
  hash.update(std::uint64_t{data.rows}).update(std::uint64_t{data.columns}).update(data.scale);
  hash.update(std::uint64_t{data.features.index()});
  std::visit([&](const auto& features) { add(hash, features); }, data.features);
  add(hash, data.labels);
  return hash.finish_hex();
}

}  // namespace mfl
