#include "mfl/data/dataset.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <optional>
#include <type_traits>
#include <utility>

#include "mfl/base/digest.h"

namespace mfl {
namespace {

constexpr std::size_t kBorrowedBlock = 256;  // borrowed rows that are read at a time

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

template <class X>
BorrowedRows<X> pick(const BorrowedRows<X>& from, std::size_t, std::span<const std::uint32_t> rows) {
  return some_of(from, {rows.begin(), rows.end()});
}

// Along the cycles of the permutation.
template <class X>
void reorder(DenseRows<X>& dense, std::size_t columns, std::span<const std::uint32_t> order) {
  const auto row = [&](std::size_t r) {
    return dense.values.begin() + static_cast<std::ptrdiff_t>(r * columns);
  };
  std::vector<bool> placed(order.size());
  std::vector<X> aside(columns);
  for (std::size_t start = 0; start < order.size(); ++start) {
    if (placed[start] || order[start] == start) continue;
    std::copy_n(row(start), columns, aside.begin());
    std::size_t to = start;
    for (; order[to] != start; to = order[to]) {
      std::copy_n(row(order[to]), columns, row(to));
      placed[to] = true;
    }
    std::copy_n(aside.begin(), columns, row(to));
    placed[to] = true;
  }
}

template <class Rows>
void reorder(Rows& rows, std::size_t columns, std::span<const std::uint32_t> order) {
  rows = pick(rows, columns, order);
}

template <class To, class From>
std::vector<To> converted(const std::vector<From>& from) {
  std::vector<To> to(from.size());
  std::transform(from.begin(), from.end(), to.begin(), [](From x) { return static_cast<To>(x); });
  return to;
}

// A finite number that f32 has no place for.
std::optional<double> find_too_large(const Features& features) {
  const auto find = [](const std::vector<double>& values) -> std::optional<double> {
    const auto found = std::ranges::find_if(
        values, [](double x) { return std::isfinite(x) && !std::isfinite(static_cast<float>(x)); });
    return found == values.end() ? std::nullopt : std::optional(*found);
  };
  if (const auto* dense = std::get_if<DenseRows<double>>(&features)) return find(dense->values);
  if (const auto* sparse = std::get_if<SparseRows<double>>(&features)) return find(sparse->values);
  return std::nullopt;
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
void add(Sha256& hash, const BorrowedRows<X>& borrowed) {
  for_each_block(borrowed, kBorrowedBlock,
                 [&](std::size_t, std::span<const X> numbers) { hash.update(std::as_bytes(numbers)); });
}

template <class X>
void add(Sha256& hash, const SparseRows<X>& sparse) {
  hash.update(std::uint64_t{sparse.values.size()});
  add(hash, sparse.starts);
  add(hash, sparse.columns);
  add(hash, sparse.values);
}

// Features has its dense kinds first, and last the borrowed rows of each.
constexpr std::size_t kFirstBorrowed = 5;
static_assert(
    std::is_same_v<std::variant_alternative_t<0, Features>, DenseRows<std::uint8_t>> &&
    std::is_same_v<std::variant_alternative_t<kFirstBorrowed, Features>, BorrowedRows<std::uint8_t>>);

// What the rows are like, whoever owns them.
std::size_t kind_of(const Features& features) {
  return features.index() < kFirstBorrowed ? features.index() : features.index() - kFirstBorrowed;
}

template <class Rows>
Rows copied(const Rows& rows) {
  return rows;
}

template <class X>
DenseRows<X> copied(const BorrowedRows<X>& rows) {
  DenseRows<X> own;
  own.values.reserve(rows.rows * rows.columns);
  for_each_block(rows, kBorrowedBlock, [&](std::size_t, std::span<const X> numbers) {
    own.values.insert(own.values.end(), numbers.begin(), numbers.end());
  });
  return own;
}

}  // namespace

bool is_borrowed(const Dataset& data) { return data.features.index() >= kFirstBorrowed; }

Dataset owned(Dataset data) {
  if (is_borrowed(data))
    data.features = std::visit([](const auto& rows) -> Features { return copied(rows); }, data.features);
  return data;
}

bool is_sparse(const Dataset& data) {
  return std::holds_alternative<SparseRows<float>>(data.features) ||
         std::holds_alternative<SparseRows<double>>(data.features);
}

std::shared_ptr<const Origin> origin_at(const std::filesystem::path& path,
                                        std::vector<std::string> known_classes) {
  Origin origin;
  origin.path = path;
  origin.known_classes = std::move(known_classes);
  return std::make_shared<const Origin>(std::move(origin));
}

std::vector<std::string> digit_classes() { return {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}; }

std::string number_label(double number) { return fmt::format("{}", number == 0 ? 0.0 : number); }

std::string label_text(const Dataset& data, double label) {
  const bool text = data.origin && !data.origin->classes.empty();
  return text ? data.origin->classes[static_cast<std::size_t>(label)] : number_label(label);
}

std::string label_place(const Dataset& data, double label) {
  if (!data.origin || data.origin->path.empty()) return "the data";
  const Origin& origin = *data.origin;
  std::string place = origin.path.string();
  const auto found = std::ranges::find(origin.labels, label);
  if (found != origin.labels.end())
    place += fmt::format(", line {}", origin.lines[static_cast<std::size_t>(found - origin.labels.begin())]);
  if (origin.label_column != 0) place += fmt::format(", column {}", origin.label_column);
  return place;
}

Features take_features(const Dataset& data, std::span<const std::uint32_t> rows) {
  assert(std::all_of(rows.begin(), rows.end(), [&](std::uint32_t row) { return row < data.rows; }));
  return std::visit([&](const auto& from) -> Features { return pick(from, data.columns, rows); },
                    data.features);
}

Dataset take_rows(const Dataset& data, std::span<const std::uint32_t> rows) {
  Dataset taken{.rows = rows.size(),
                .columns = data.columns,
                .scale = data.scale,
                .features = take_features(data, rows),
                .labels = {},
                .origin = data.origin};
  taken.labels.reserve(rows.size());
  for (const std::uint32_t row : rows) taken.labels.push_back(data.labels[row]);
  if (!data.groups.empty())
    for (const std::uint32_t row : rows) taken.groups.push_back(data.groups[row]);
  return taken;
}

Dataset reordered(Dataset data, std::span<const std::uint32_t> order) {
  assert(order.size() == data.rows);
  std::vector<double> labels(data.rows);
  for (std::size_t i = 0; i < data.rows; ++i) labels[i] = data.labels[order[i]];
  data.labels = std::move(labels);
  if (!data.groups.empty()) {
    std::vector<std::uint32_t> groups(data.rows);
    for (std::size_t i = 0; i < data.rows; ++i) groups[i] = data.groups[order[i]];
    data.groups = std::move(groups);
  }
  std::visit([&](auto& features) { reorder(features, data.columns, order); }, data.features);
  return data;
}

Result<Dataset> with_precision(Dataset data, Precision precision) {
  data = owned(std::move(data));
  if (precision == Precision::kF64) {
    data.features = as_floating<double>(std::move(data.features));
    return data;
  }
  if (const auto large = find_too_large(data.features))
    return fail(ErrorCode::kBadData, fmt::format("the features hold {}, which is too large for f32", *large),
                "train with --precision f64, or scale the data");
  data.features = as_floating<float>(std::move(data.features));
  return data;
}

void DatasetDigest::begin(std::size_t rows, const Dataset& like) {
  hash_.update("mfl dataset 1");
  hash_.update(std::uint64_t{rows}).update(std::uint64_t{like.columns}).update(like.scale);
  hash_.update(std::uint64_t{kind_of(like.features)});
}

void DatasetDigest::add(const Features& features) {
  std::visit([&](const auto& rows) { mfl::add(hash_, rows); }, features);
}

std::string DatasetDigest::finish(std::span<const double> labels, const Origin* origin) {
  hash_.update(std::as_bytes(labels));
  if (origin != nullptr)
    for (const std::string& name : origin->classes) hash_.update(std::uint64_t{name.size()}).update(name);
  return hash_.finish_hex();
}

std::string data_digest(const Dataset& data) {
  DatasetDigest digest;
  digest.begin(data.rows, data);
  digest.add(data.features);
  return digest.finish(data.labels, data.origin.get());
}

}  // namespace mfl
