#include "mfl/data/rows.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "mfl/data/text.h"

namespace mfl {
namespace {

std::vector<std::uint32_t> all_of(std::size_t rows) {
  std::vector<std::uint32_t> all(rows);
  std::iota(all.begin(), all.end(), 0U);
  return all;
}

class HeldRows final : public RowSource {
 public:
  explicit HeldRows(Dataset data)
      : RowSource({data.rows, data.columns, data.scale, is_sparse(data)}, std::move(data.labels),
                  data.origin),
        data_(std::move(data)) {}
  Result<Features> read(std::span<const std::uint32_t> rows) const override {
    return take_features(data_, rows);
  }
  Result<Features> release() override { return std::move(data_.features); }
  std::span<const std::uint32_t> groups() const override { return data_.groups; }

 private:
  Dataset data_;
};

constexpr std::uint64_t kMix = 0x9e3779b97f4a7c15U;

std::uint64_t mixed(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * kMix;
  return hash ^ (hash >> 29U);
}

std::uint64_t mixed(std::uint64_t hash, std::span<const std::byte> bytes) {
  hash = mixed(hash, bytes.size());
  for (; !bytes.empty(); bytes = bytes.subspan(std::min(bytes.size(), sizeof hash))) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), std::min(bytes.size(), sizeof word));
    hash = mixed(hash, word);
  }
  return hash;
}

template <class X>
std::uint64_t row_hash(const DenseRows<X>& dense, std::size_t columns, std::size_t row, std::uint64_t seed) {
  return mixed(seed, std::as_bytes(std::span(dense.values).subspan(row * columns, columns)));
}

template <class X>
std::uint64_t row_hash(const SparseRows<X>& sparse, std::size_t /*columns*/, std::size_t row,
                       std::uint64_t seed) {
  const std::size_t first = sparse.starts[row], count = sparse.starts[row + 1] - first;
  seed = mixed(seed, std::as_bytes(std::span(sparse.columns).subspan(first, count)));
  return mixed(seed, std::as_bytes(std::span(sparse.values).subspan(first, count)));
}

}  // namespace

std::vector<std::uint64_t> row_hashes(const Dataset& data) {
  std::vector<std::uint64_t> out(data.rows);
  visit_owned(
      [&](const auto& features) {
        for (std::size_t row = 0; row < data.rows; ++row)
          out[row] = row_hash(features, data.columns, row, kMix + data.features.index());
      },
      data.features);
  return out;
}

std::unique_ptr<RowSource> rows_in_memory(Dataset data) {
  return std::make_unique<HeldRows>(std::move(data));
}

template <class X>
Result<std::vector<X>> read_rows(const FileReader& file, std::uint64_t start, std::size_t columns,
                                 std::span<const std::uint32_t> rows) {
  std::vector<X> values(rows.size() * columns);
  for (std::size_t i = 0; i < rows.size();) {
    std::size_t run = 1;
    while (i + run < rows.size() && rows[i + run] == rows[i] + run) ++run;
    const auto place = std::as_writable_bytes(std::span(values).subspan(i * columns, run * columns));
    const std::uint64_t at = start + std::uint64_t{rows[i]} * columns * sizeof(X);
    MFL_TRY(const std::size_t found, file.read(at, place));
    if (found < place.size())
      return bad_file(file.path(), fmt::format("truncated: it ends at byte {}", at + found),
                      "it has changed since it was opened; get the file again");
    i += run;
  }
  return values;
}

template Result<std::vector<std::uint8_t>> read_rows(const FileReader&, std::uint64_t, std::size_t,
                                                     std::span<const std::uint32_t>);
template Result<std::vector<float>> read_rows(const FileReader&, std::uint64_t, std::size_t,
                                              std::span<const std::uint32_t>);
template Result<std::vector<double>> read_rows(const FileReader&, std::uint64_t, std::size_t,
                                               std::span<const std::uint32_t>);

Result<Features> RowSource::release() { return read(all_of(shape_.rows)); }

SomeRows::SomeRows(std::shared_ptr<RowSource> source, std::vector<std::uint32_t> rows)
    : source_(std::move(source)), rows_(std::move(rows)), shape_(source_->shape()) {}

SomeRows::SomeRows(std::shared_ptr<RowSource> source)
    : source_(std::move(source)), rows_(all_of(source_->shape().rows)), shape_(source_->shape()) {}

std::vector<double> SomeRows::labels() const {
  std::vector<double> labels;
  labels.reserve(rows_.size());
  for (const std::uint32_t row : rows_) labels.push_back(source_->labels()[row]);
  return labels;
}

Dataset SomeRows::without_features() const {
  Dataset data{.rows = rows_.size(),
               .columns = shape_.columns,
               .scale = shape_.scale,
               .features = {},
               .labels = labels(),
               .origin = source_->origin()};
  if (const auto groups = source_->groups(); !groups.empty())
    for (const std::uint32_t row : rows_) data.groups.push_back(groups[row]);
  return data;
}

Result<Dataset> SomeRows::read(std::span<const std::uint32_t> places) const {
  SomeRows some(source_, {});
  some.shape_ = shape_;
  some.rows_.reserve(places.size());
  for (const std::uint32_t place : places) some.rows_.push_back(rows_[place]);
  Dataset data = some.without_features();
  MFL_TRY(data.features, source_->read(some.rows_));
  return data;
}

Result<Dataset> SomeRows::take() && {
  const bool whole =
      source_.use_count() == 1 && rows_.size() == source_->shape().rows && std::ranges::is_sorted(rows_);
  Dataset data = without_features();
  auto features = whole ? source_->release() : source_->read(rows_);
  source_.reset();
  MFL_TRY(data.features, std::move(features));
  return data;
}

Result<std::string> SomeRows::digest(std::vector<std::uint64_t>* hashes) const {
  constexpr std::size_t kBytesAtATime = std::size_t{8} << 20;
  const std::size_t block = shape_.sparse
                                ? rows_.size()
                                : std::max<std::size_t>(1, kBytesAtATime / (shape_.columns * sizeof(double)));
  DatasetDigest digest;
  std::vector<std::uint32_t> places;
  for (std::size_t first = 0; first < rows_.size(); first += block) {
    places.resize(std::min(block, rows_.size() - first));
    std::iota(places.begin(), places.end(), static_cast<std::uint32_t>(first));
    MFL_TRY(const Dataset part, read(places));
    if (first == 0) digest.begin(rows_.size(), part);
    digest.add(part.features);
    if (hashes == nullptr) continue;
    const std::vector<std::uint64_t> more = row_hashes(part);
    hashes->insert(hashes->end(), more.begin(), more.end());
  }
  return digest.finish(labels(), source_->origin().get());
}

}  // namespace mfl
