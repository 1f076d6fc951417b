// The updates of a round as one: their exact weighted mean, of any size, or what another aggregator makes of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "mfl/aggregate/exact_mean.h"
#include "mfl/algorithm/aggregation.h"
#include "mfl/algorithm/state.h"
#include "mfl/base/vectors.h"
#include "mfl/engine/workers.h"

namespace mfl {

// Updates are held as they came until they are worth a pass over the sums. A pass goes by slices, on all workers: a slice of
// the sums stays in the cache while every update that is held is added to it. Not thread-safe.
template <class T>
class RoundSum {
 public:
  // At most `most_held` updates are held, and one at least, within `most_bytes`; as much memory of updates that have been added is
  // kept for spare_buffer(). The workers outlive it; what comes out depends neither on how many there are nor on how many updates
  // are held.
  //
  // An aggregator other than the exact mean needs all updates of a round in memory, whatever the limits; null: the exact mean.
  RoundSum(VectorLayout layout, std::size_t parameters, Workers& workers,
           std::shared_ptr<const Aggregator> aggregator = nullptr, std::size_t most_held = 8,
           std::size_t most_bytes = std::size_t{1} << 29U);

  std::size_t most_held() const { return most_held_; }

  // What one pass over an update tells.
  struct Measured {
    std::optional<std::size_t> not_finite;  // the place of the first number that is not
    std::vector<double> moves;  // of each vector from `from` (L2); may be infinite; undefined if not_finite
  };
  // Of vectors that are sent up, as of payload.h, with as many bytes as they have. Moves are from where the vectors started: the State, which
  // is finite, or zero. They are added up in a fixed order and do not depend on the workers.
  Measured measure(const std::string& payload, const State<T>& state);
  // "d[17]", of a place in a payload.
  std::string name_of(std::size_t place) const;

  // Adds such vectors, all of which are finite. 0 < weight <= ExactMean::kMaxWeight.
  void add(const std::string& node, std::string payload, std::uint64_t weight);

  // Of all that was added since clear(), one vector after the other; there must be something, and enough for the aggregator. The
  // memory of `out` is reused, and what was added is used up. Nodes are in the order of their names, shorter ones first: that of a simulation.
  void finish(const State<T>& state, std::vector<Vector<T>>& out);

  void clear();

  // Empty; reuses the memory of an update that has been added, if there is one: new memory for every update of a large
  // State costs more than adding it up.
  std::string spare_buffer();

 private:
  struct Held {
    std::string payload;
    std::uint64_t weight;
  };
  struct Slice {
    std::size_t up,
        first;          // its coordinates: the vector's place among those that are sent up, and a place in it
    std::size_t place;  // in a payload, in numbers
    ExactMean sum;
  };

  void for_each_slice(const std::function<void(Slice& slice)>& work);
  // Where the slice's numbers started the round; null: at zero.
  const T* start_of(const Slice& slice, const State<T>& state) const;
  void add_held();
  void drop_held();
  void aggregate(const State<T>& state, std::vector<Vector<T>>& out);

  VectorLayout layout_;
  std::vector<std::size_t> lengths_;  // of what is sent up
  std::size_t numbers_, most_held_, most_bytes_;
  Workers& workers_;
  std::vector<Slice> slices_;
  std::shared_ptr<const Aggregator> aggregator_;  // null: the exact mean
  std::map<std::pair<std::size_t, std::string>, NodeUpdate<T>>
      kept_;  // by length of the node's name, and name; for aggregator_
  std::vector<Held> held_;
  std::vector<std::string> spare_buffers_;
  std::vector<double> squares_;  // of the moves, by slice
  bool fresh_ = true;            // nothing is in the sums but what an earlier round left there
};

}  // namespace mfl
