#include "mfl/model/samples.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <variant>

namespace mfl {
namespace {

// Sets the bits of the chunks that are not all zero; returns how many.
template <class X>
std::size_t set_chunk_bits(const X* values, std::size_t rows, std::size_t columns, std::uint64_t* bits) {
  const std::size_t words = chunk_words(columns), chunks = columns / kChunk;
  std::size_t set = 0;
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < chunks; ++c) {
      const X* chunk = values + r * columns + c * kChunk;
      if (std::all_of(chunk, chunk + kChunk, [](X x) { return x == 0; })) continue;
      bits[r * words + c / 64] |= std::uint64_t{1} << (c % 64);
      ++set;
    }
  return set;
}

// Rounded up: a millionth is more than the rounding in f64 and in the conversion.
void set_lengths(const std::uint8_t* bytes, std::size_t rows, std::size_t columns, double scale,
                 float* lengths) {
  for (std::size_t r = 0; r < rows; ++r) {
    std::uint64_t squares = 0;
    for (std::size_t j = 0; j < columns; ++j) {
      const std::uint32_t x = bytes[r * columns + j];
      squares += x * x;
    }
    lengths[r] = static_cast<float>(std::abs(scale) * std::sqrt(static_cast<double>(squares)) * (1 + 1e-6));
  }
}

// Memory of this thread for the rows that were prepared last.
template <class X>
X* room_for(std::size_t count) {
  thread_local Vector<X> block;
  if (block.size() < count) block.resize(count);
  return block.data();
}

}  // namespace

template <class T>
Samples<T>::Samples(Dataset data, std::span<const double> targets, const KernelSet& kernels)
    : data_(std::move(data)), targets_(targets.begin(), targets.end()), kernels_(&kernels.of<T>()) {
  if (targets_.size() != data_.rows) throw std::invalid_argument("every sample needs a target");
  if (!std::holds_alternative<DenseRows<std::uint8_t>>(data_.features) &&
      !std::holds_alternative<DenseRows<T>>(data_.features) &&
      !std::holds_alternative<SparseRows<T>>(data_.features))
    throw std::invalid_argument("features are neither bytes nor of the precision of the run");
  measure();
}

template <class T>
Samples<T>::Samples(PreparedRows rows, std::span<const double> targets, const KernelSet& kernels)
    : data_{.rows = rows.size(),
            .columns = rows.columns(),
            .scale = rows.scale(),
            .features = {},
            .labels = {}},
      prepared_(std::make_shared<const PreparedRows>(std::move(rows))),
      targets_(targets.begin(), targets.end()),
      kernels_(&kernels.of<T>()) {
  if (targets_.size() != data_.rows) throw std::invalid_argument("every sample needs a target");
  measure();
}

template <class T>
void Samples<T>::measure() {
  if (data_.rows == 0 || (!prepared_ && is_sparse(data_))) return;
  constexpr double kWorthwhile = 0.9;
  const std::size_t words = chunk_words(data_.columns), chunks = data_.columns / kChunk;
  std::vector<std::uint64_t> bits(data_.rows * words);
  std::vector<float> lengths;
  if (rows({0, 1}).kind == RowKind::kBytes &&
      std::ranges::all_of(targets_, [](T y) { return y == 1 || y == -1; }))
    lengths.resize(data_.rows);
  std::size_t set = 0;
  for (std::size_t at = 0; at < data_.rows; at += kRowBlock) {
    const std::size_t count = std::min(kRowBlock, data_.rows - at);
    const RowBlock<T> block = rows({at, count});
    set += block.kind == RowKind::kBytes
               ? set_chunk_bits(block.bytes, count, data_.columns, bits.data() + at * words)
               : set_chunk_bits(block.values, count, data_.columns, bits.data() + at * words);
    if (!lengths.empty()) set_lengths(block.bytes, count, data_.columns, data_.scale, lengths.data() + at);
  }
  lengths_ = std::move(lengths);
  if (static_cast<double>(set) <= kWorthwhile * static_cast<double>(data_.rows * chunks))
    chunks_ = std::move(bits);
}

template <class T>
void Samples<T>::weigh(std::vector<T> weights) {
  if (weights.size() != size()) throw std::invalid_argument("one weight per row");
  weights_ = std::move(weights);
}

template <class T>
Samples<T> Samples<T>::buffer(std::size_t most, std::size_t columns, double scale, const KernelSet& kernels) {
  Dataset empty{.rows = 0, .columns = columns, .scale = scale, .features = {}, .labels = {}};
  Samples out(std::move(empty), {}, kernels);
  out.data_.features = DenseRows<std::uint8_t>{std::vector<std::uint8_t>(most * columns)};
  out.targets_.resize(most);
  return out;
}

template <class T>
typename Samples<T>::Unfilled Samples<T>::overwrite(std::size_t rows) {
  auto& bytes = std::get<DenseRows<std::uint8_t>>(data_.features).values;
  assert(chunks_.empty() && lengths_.empty());
  if (rows > targets_.size()) throw std::length_error("more samples than there is room for");
  data_.rows = rows;
  return {std::span(bytes).first(rows * data_.columns), std::span(targets_).first(rows)};
}

template <class T>
bool Samples<T>::has_hinge_sums(Loss loss, std::size_t count) const {
  return weights_.empty() && loss == Loss::kHinge && count <= kMostHingeRows<T> && !lengths_.empty();
}

template <class T>
RowBlock<T> Samples<T>::rows(Shard shard) const {
  RowBlock<T> block;
  block.rows = shard.count;
  block.columns = data_.columns;
  block.scale = static_cast<T>(data_.scale);
  const std::size_t at = shard.first * data_.columns;
  if (!lengths_.empty()) block.lengths = lengths_.data() + shard.first;
  if (!chunks_.empty()) block.chunks = chunks_.data() + shard.first * chunk_words(data_.columns);
  if (prepared_) {
    block.kind = prepared_->bytes() ? RowKind::kBytes : RowKind::kDense;
    if (prepared_->bytes())
      block.bytes = prepared_block<std::uint8_t>(shard);
    else
      block.values = prepared_block<T>(shard);
  } else if (const auto* bytes = std::get_if<DenseRows<std::uint8_t>>(&data_.features)) {
    block.kind = RowKind::kBytes;
    block.bytes = bytes->values.data() + at;
  } else if (const auto* dense = std::get_if<DenseRows<T>>(&data_.features)) {
    block.kind = RowKind::kDense;
    block.values = dense->values.data() + at;
  } else {
    const auto& sparse = std::get<SparseRows<T>>(data_.features);
    block.kind = RowKind::kSparse;
    block.starts = sparse.starts.data() + shard.first;
    block.positions = sparse.columns.data();
    block.values = sparse.values.data();
  }
  return block;
}

template <class T>
template <class X>
const X* Samples<T>::prepared_block(Shard shard) const {
  if (const X* stored = prepared_->template stored<X>(shard.first)) return stored;
  X* const block = room_for<X>(shard.count * columns());
  prepared_->read(shard.first, shard.count, block);
  return block;
}

template <class T>
Samples<double> Samples<T>::in_f64(Shard shard) const {
  const std::vector<double> no_targets(shard.count, 0.0);
  if (prepared_) return {prepared_->part(shard.first, shard.count), no_targets};
  std::vector<std::uint32_t> places(shard.count);
  std::iota(places.begin(), places.end(), static_cast<std::uint32_t>(shard.first));
  return {*with_precision(take_rows(data_, places), Precision::kF64), no_targets};
}

template <class T>
Samples<T> Samples<T>::buffer_for(const Samples& like, std::size_t most) {
  Samples out = like.empty_copy();
  if (like.prepared_ && !like.prepared_->bytes()) out.data_.features = DenseRows<T>{};
  visit_owned(
      [&](auto& rows) {
        if constexpr (requires { rows.starts; })
          rows.starts.reserve(most + 1);
        else
          rows.values.resize(most * like.columns());
      },
      out.data_.features);
  out.targets_.resize(most);
  if (!like.weights_.empty()) out.weights_.resize(most);
  if (!like.chunks_.empty()) out.chunks_.resize(most * chunk_words(like.columns()));
  return out;
}

template <class T>
Samples<T> Samples<T>::empty_copy() const {
  Dataset empty{.rows = 0, .columns = data_.columns, .scale = data_.scale, .features = {}, .labels = {}};
  visit_owned([&]<class Rows>(const Rows&) { empty.features = Rows{}; }, data_.features);
  Samples out(std::move(empty), {});
  out.kernels_ = kernels_;
  return out;
}

template <class T>
void Samples<T>::gather(const Samples& from, Shard shard, std::span<const std::uint32_t> rows) {
  assert(rows.size() <= targets_.size() && from.columns() == columns());
  data_.rows = rows.size();
  for (std::size_t i = 0; i < rows.size(); ++i) targets_[i] = from.targets_[shard.first + rows[i]];
  if (!weights_.empty())
    for (std::size_t i = 0; i < rows.size(); ++i) weights_[i] = from.weights_[shard.first + rows[i]];
  const std::size_t words = chunk_words(columns());
  if (!chunks_.empty())
    for (std::size_t i = 0; i < rows.size(); ++i)
      std::copy_n(from.chunks_.begin() + static_cast<std::ptrdiff_t>((shard.first + rows[i]) * words), words,
                  chunks_.begin() + static_cast<std::ptrdiff_t>(i * words));
  visit_owned(
      [&](auto& mine) {
        if constexpr (!requires { mine.starts; })
          if (from.prepared_) return from.prepared_->read(shard.first, rows, mine.values.data());
        const auto& theirs = std::get<std::decay_t<decltype(mine)>>(from.data_.features);
        if constexpr (requires { mine.starts; }) {
          mine.starts.assign(1, 0);
          mine.columns.clear();
          mine.values.clear();
          for (const std::uint32_t row : rows) {
            const auto first = static_cast<std::ptrdiff_t>(theirs.starts[shard.first + row]);
            const auto last = static_cast<std::ptrdiff_t>(theirs.starts[shard.first + row + 1]);
            mine.columns.insert(mine.columns.end(), theirs.columns.begin() + first,
                                theirs.columns.begin() + last);
            mine.values.insert(mine.values.end(), theirs.values.begin() + first,
                               theirs.values.begin() + last);
            mine.starts.push_back(mine.values.size());
          }
        } else {
          for (std::size_t i = 0; i < rows.size(); ++i)
            std::copy_n(theirs.values.data() + (shard.first + rows[i]) * columns(), columns(),
                        mine.values.data() + i * columns());
        }
      },
      data_.features);
}

template class Samples<float>;
template class Samples<double>;

}  // namespace mfl
