// Data that is ready to train on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "mfl/base/for_each.h"
#include "mfl/base/kernels/kernels.h"
#include "mfl/data/dataset.h"
#include "mfl/data/prepared_rows.h"

namespace mfl {

// Consecutive samples: the data of one node.
struct Shard {
  std::size_t first = 0;
  std::size_t count = 0;
};

constexpr std::size_t row_blocks(std::size_t rows) { return (rows + kRowBlock - 1) / kRowBlock; }

// A data set with the targets of its task, ready to train on in precision T. Owns both, except for borrowed rows. Immutable except
// for weigh, overwrite and gather, so safe to share among threads.
template <class T>
class Samples {
 public:
  // Features of bytes or of precision T (see with_precision), one target per row; else throws std::invalid_argument.
  Samples(Dataset data, std::span<const double> targets, const KernelSet& kernels = default_kernel_set());

  // Of rows that stay where they are and are prepared block by block, whenever they are asked for: slower than a copy, and none.
  // T is their precision, or double.
  Samples(PreparedRows rows, std::span<const double> targets,
          const KernelSet& kernels = default_kernel_set());

  // From now on row r counts weights[r] times in losses and gradients. One per row.
  void weigh(std::vector<T> weights);

  // A buffer for up to `most` rows of bytes that one worker refills. Initially empty.
  static Samples buffer(std::size_t most, std::size_t columns, double scale,
                        const KernelSet& kernels = default_kernel_set());
  struct Unfilled {
    std::span<std::uint8_t> bytes;  // rows x columns
    std::span<T> targets;           // one per row
  };
  // Only for buffer(): makes it hold `rows` <= `most` rows, which the caller then writes. Does not allocate.
  Unfilled overwrite(std::size_t rows);

  // A buffer for up to `most` rows of `like`, which gather() fills. Initially empty.
  static Samples buffer_for(const Samples& like, std::size_t most);
  // Only for buffer_for(): makes it hold these rows of the shard, in this order. `from` is like the one of buffer_for().
  void gather(const Samples& from, Shard shard, std::span<const std::uint32_t> rows);

  std::size_t size() const { return data_.rows; }
  std::size_t columns() const { return data_.columns; }
  // Without features where they are prepared block by block.
  const Dataset& data() const { return data_; }
  const Kernels<T>& kernels() const { return *kernels_; }
  // Where rows are prepared block by block the result is valid until the next call on the same thread, for whatever samples, and costs
  // the memory of these rows. Callers that can take kRowBlock rows at a time do.
  RowBlock<T> rows(Shard shard) const;
  // Those rows in f64, with targets of 0 and without weights.
  Samples<double> in_f64(Shard shard) const;
  const T* targets(std::size_t first) const { return targets_.data() + first; }
  // Null where every row counts once.
  const T* weights(std::size_t first) const { return weights_.empty() ? nullptr : weights_.data() + first; }
  // Whether HingeSums can compute the gradient of this loss over `count` samples.
  bool has_hinge_sums(Loss loss, std::size_t count) const;

 private:
  template <class X>
  const X* prepared_block(Shard shard) const;
  void measure();
  Samples empty_copy() const;

  Dataset data_;
  std::shared_ptr<const PreparedRows> prepared_;  // null: data_ has the rows
  std::vector<T> targets_;
  std::vector<T> weights_;             // empty: all are 1
  std::vector<std::uint64_t> chunks_;  // as RowBlock::chunks; empty if few chunks are zero
  std::vector<float> lengths_;         // as RowBlock::lengths; empty if not needed
  const Kernels<T>* kernels_;
};

}  // namespace mfl
