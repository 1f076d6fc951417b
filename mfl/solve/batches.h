// Which rows a local step is on: all rows of the node, or the next `batch_size` of an order that is drawn for every epoch. The
// order depends on (seed, node name, round, epoch within the round) alone, so a node needs no memory of rounds that it missed.
//
//   const Batching batching{.batch_size = 10, .seed = 1};
//   BatchOrder order;
//   order.start(batching, node_key("node-0003"), round, rows);
//   for (std::uint64_t step = 0; step < 2 * batches_per_epoch(batching, rows); ++step)
//     order.rows_of(step);  // two epochs: every row exactly twice
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mfl {

// The name of a simulated node, which is also that of its data in `mfl data split`.
std::string node_name(std::size_t node);
// What draws are keyed by.
std::uint64_t node_key(std::string_view name);

struct Batching {
  std::uint64_t batch_size = 0;  // rows; 0: all rows of the node
  bool drop_last = false;        // an epoch leaves out its last batch where that is smaller than the others
  bool by_epochs = false;        // the steps of a round are counted in epochs over the node's rows
  std::uint64_t seed = 0;

  bool operator==(const Batching&) const = default;
};

// Whether a step is on all of a node's rows, in their own order: no larger batch exists.
inline bool takes_all(const Batching& batching, std::size_t rows) {
  return batching.batch_size == 0 || batching.batch_size >= rows;
}
// At least 1. A node with fewer rows than a batch has one batch of all its rows.
std::uint64_t batches_per_epoch(const Batching& batching, std::size_t rows);
// The local steps of a node in a round of `steps` steps, or epochs with by_epochs.
inline std::uint64_t steps_of_node(const Batching& batching, std::size_t rows, std::uint64_t steps) {
  return batching.by_epochs ? steps * batches_per_epoch(batching, rows) : steps;
}
// The rows that those steps are on, counted as often as they are used.
std::uint64_t rows_of_steps(const Batching& batching, std::size_t rows, std::uint64_t steps);

// The batches of one node in one round, where takes_all() is false. Not thread-safe.
class BatchOrder {
 public:
  void start(const Batching& batching, std::uint64_t node_key, std::uint64_t round, std::size_t rows);
  // Of local step `step` of the round, from 0. Valid until the next call. Cheap for ascending steps.
  std::span<const std::uint32_t> rows_of(std::uint64_t step);

 private:
  Batching batching_;
  std::uint64_t key_ = 0, round_ = 0, epoch_ = 0;
  std::vector<std::uint32_t> order_;
  bool drawn_ = false;
};

}  // namespace mfl
