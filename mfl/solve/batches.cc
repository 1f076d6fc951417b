#include "mfl/solve/batches.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <charconv>
#include <numeric>

#include "mfl/base/digest.h"
#include "mfl/base/rng.h"

namespace mfl {

std::string node_name(std::size_t node) { return fmt::format("node-{:04}", node); }

std::uint64_t node_key(std::string_view name) {
  const std::string digest = sha256_hex(name);
  std::uint64_t key = 0;
  std::from_chars(digest.data(), digest.data() + 2 * sizeof key, key, 16);
  return key;
}

std::uint64_t batches_per_epoch(const Batching& batching, std::size_t rows) {
  if (takes_all(batching, rows)) return 1;
  const std::uint64_t whole = rows / batching.batch_size;
  return batching.drop_last || rows % batching.batch_size == 0 ? whole : whole + 1;
}

std::uint64_t rows_of_steps(const Batching& batching, std::size_t rows, std::uint64_t steps) {
  const std::uint64_t taken = steps_of_node(batching, rows, steps);
  if (takes_all(batching, rows)) return taken * rows;
  const std::uint64_t each = batches_per_epoch(batching, rows);
  const std::uint64_t of_epoch = batching.drop_last ? each * batching.batch_size : rows;
  return taken / each * of_epoch + taken % each * batching.batch_size;
}

void BatchOrder::start(const Batching& batching, std::uint64_t node_key, std::uint64_t round,
                       std::size_t rows) {
  assert(!takes_all(batching, rows));
  batching_ = batching;
  key_ = node_key;
  round_ = round;
  order_.resize(rows);
  drawn_ = false;
}

std::span<const std::uint32_t> BatchOrder::rows_of(std::uint64_t step) {
  const std::uint64_t each = batches_per_epoch(batching_, order_.size());
  if (const std::uint64_t epoch = step / each; !drawn_ || epoch != epoch_) {
    std::iota(order_.begin(), order_.end(), 0U);
    Stream stream(batching_.seed, Purpose::kBatches, round_, key_, epoch);
    for (std::size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[stream.below(i)]);
    epoch_ = epoch;
    drawn_ = true;
  }
  const std::size_t first = step % each * batching_.batch_size;
  return std::span(order_).subspan(first, std::min<std::size_t>(batching_.batch_size, order_.size() - first));
}

}  // namespace mfl
