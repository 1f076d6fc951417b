#include "mfl/engine/mpi/mean_over_ranks.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>

#include "mfl/aggregate/aggregator.h"

namespace mfl {
namespace {

using Words = std::vector<std::uint32_t>;

// Slices, by number: first <= s < end.
struct Range {
  std::size_t first = 0, end = 0;
  bool empty() const { return first >= end; }
};

// Who rounds which slices, and how many travel in a message.
class Shares {
 public:
  Shares(std::size_t slices, std::size_t ranks) : slices_(slices), each_((slices + ranks - 1) / ranks) {
    // Long enough that a message is worth sending, short enough that those of all ranks stay near the cache.
    constexpr std::size_t kAllRanks = (std::size_t{1} << 17) / kAggregateSlice;
    in_message_ = std::max<std::size_t>(1, kAllRanks / ranks);
  }
  Range of(std::size_t rank) const {
    return {std::min(rank * each_, slices_), std::min((rank + 1) * each_, slices_)};
  }
  std::size_t messages() const { return (each_ + in_message_ - 1) / in_message_; }
  std::size_t in_message() const { return in_message_; }
  Range message(std::size_t rank, std::size_t k) const {
    const Range share = of(rank);
    return {std::min(share.first + k * in_message_, share.end),
            std::min(share.first + (k + 1) * in_message_, share.end)};
  }

 private:
  std::size_t slices_, each_, in_message_ = 1;
};

// One message to and from every rank on its way: this rank's sums for the others, and the others' for this rank.
template <class T>
class Exchange {
 public:
  Exchange(MPI_Comm communicator, int rank, int size, std::size_t most_words)
      : communicator_(communicator),
        rank_(rank),
        size_(size),
        most_words_(most_words),
        sent_(static_cast<std::size_t>(size)),
        received_(static_cast<std::size_t>(size)) {}

  void start(SlicedSums<T>& sums, const Shares& shares, std::size_t k) {
    requests_.clear();
    const int tag = static_cast<int>(k % 2);  // messages of a pair of ranks keep their order
    mine_ = shares.message(static_cast<std::size_t>(rank_), k);
    for (int distance = 1; distance < size_ && !mine_.empty(); ++distance) {
      const int from = (rank_ + size_ - distance) % size_;
      Words& words = received_[static_cast<std::size_t>(from)];
      words.resize(most_words_);
      MPI_Irecv(words.data(), static_cast<int>(words.size()), MPI_UINT32_T, from, tag, communicator_,
                &requests_.emplace_back());
    }
    senders_ = requests_.size();
    for (int distance = 1; distance < size_; ++distance) {
      const auto to = static_cast<std::size_t>((rank_ + distance) % size_);
      const Range theirs = shares.message(to, k);
      if (theirs.empty()) continue;
      Words& words = sent_[to];
      words.clear();
      for (std::size_t s = theirs.first; s < theirs.end; ++s) sums.pack_slice(s, words);
      MPI_Isend(words.data(), static_cast<int>(words.size()), MPI_UINT32_T, static_cast<int>(to), tag,
                communicator_, &requests_.emplace_back());
    }
  }

  // Adds what came, in the order in which it came: it makes no difference.
  void finish(SlicedSums<T>& sums, std::vector<Vector<T>>& out) {
    for (std::size_t left = senders_; left > 0; --left) {
      int index = 0;
      MPI_Status status;
      MPI_Waitany(static_cast<int>(senders_), requests_.data(), &index, &status);
      int count = 0;
      MPI_Get_count(&status, MPI_UINT32_T, &count);
      std::span<const std::uint32_t> words = received_[static_cast<std::size_t>(status.MPI_SOURCE)];
      words = words.first(static_cast<std::size_t>(count));
      for (std::size_t s = mine_.first; s < mine_.end; ++s) words = sums.merge_slice(s, words);
    }
    MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
    for (std::size_t s = mine_.first; s < mine_.end; ++s) sums.finish_slice(s, out);
  }

 private:
  MPI_Comm communicator_;
  int rank_, size_;
  std::size_t most_words_;
  std::vector<Words> sent_, received_;
  std::vector<MPI_Request> requests_;  // those of what is received first
  std::size_t senders_ = 0;
  Range mine_;
};

template <class T>
MPI_Datatype type_of() {
  return sizeof(T) == sizeof(float) ? MPI_FLOAT : MPI_DOUBLE;
}

// The numbers of each vector that each rank has rounded.
template <class T>
void hand_out(MPI_Comm communicator, std::size_t size, const Shares& shares, std::span<const Slice> slices,
              std::vector<Vector<T>>& out) {
  std::vector<std::vector<int>> counts(out.size(), std::vector<int>(size)), firsts = counts;
  for (std::size_t rank = 0; rank < size; ++rank) {
    const Range share = shares.of(rank);
    for (std::size_t s = share.first; s < share.end; ++s) {
      const auto [v, first, count] = slices[s];
      if (counts[v][rank] == 0) firsts[v][rank] = static_cast<int>(first);
      counts[v][rank] += static_cast<int>(count);
    }
  }
  for (std::size_t v = 0; v < out.size(); ++v)
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out[v].data(), counts[v].data(), firsts[v].data(),
                   type_of<T>(), communicator);
}

}  // namespace

template <class T>
void mean_over_ranks(MPI_Comm communicator, SlicedSums<T>& sums, std::vector<Vector<T>>& out) {
  for (const Vector<T>& vector : out)
    if (vector.size() > std::numeric_limits<int>::max())
      throw std::length_error("a vector of more than 2^31 - 1 numbers cannot be averaged over MPI");
  int rank = 0, size = 1;
  MPI_Comm_rank(communicator, &rank);
  MPI_Comm_size(communicator, &size);
  const std::span<const Slice> slices = sums.slices();
  const Shares shares(slices.size(), static_cast<std::size_t>(size));
  std::uint64_t most_words = 0;
  for (std::size_t s = 0; s < slices.size(); ++s) most_words = std::max(most_words, sums.most_words(s));
  MPI_Allreduce(MPI_IN_PLACE, &most_words, 1, MPI_UINT64_T, MPI_MAX, communicator);
  most_words *= shares.in_message();
  Exchange<T> one(communicator, rank, size, most_words), other(communicator, rank, size, most_words);
  const std::array<Exchange<T>*, 2> exchanges = {&one, &other};
  for (std::size_t k = 0; k <= shares.messages(); ++k) {
    if (k < shares.messages()) exchanges[k % 2]->start(sums, shares, k);
    if (k > 0) exchanges[(k - 1) % 2]->finish(sums, out);
  }
  hand_out(communicator, static_cast<std::size_t>(size), shares, slices, out);
}

template void mean_over_ranks(MPI_Comm, SlicedSums<float>&, std::vector<Vector<float>>&);
template void mean_over_ranks(MPI_Comm, SlicedSums<double>&, std::vector<Vector<double>>&);

}  // namespace mfl
