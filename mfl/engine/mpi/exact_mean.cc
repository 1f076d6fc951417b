#include "mfl/engine/mpi/exact_mean.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <limits>
#include <stdexcept>
#include <vector>

namespace mfl {
namespace {

using Words = std::vector<std::uint32_t>;

struct Range {
  std::size_t first = 0;
  std::size_t count = 0;
};

// Who rounds which coordinates, and in which slices they travel.
class Shares {
 public:
  Shares(std::size_t coordinates, std::size_t ranks)
      : coordinates_(coordinates), each_((coordinates + ranks - 1) / ranks) {
    // Long enough that a message is worth sending, short enough that those of all ranks stay near the cache.
    constexpr std::size_t kAllRanks = std::size_t{1} << 17, kLeast = 1 << 10;
    slice_ = std::max(kLeast, kAllRanks / ranks);
  }
  Range of(std::size_t rank) const {
    const std::size_t first = std::min(rank * each_, coordinates_);
    return {first, std::min(each_, coordinates_ - first)};
  }
  std::size_t slices() const { return (each_ + slice_ - 1) / slice_; }
  std::size_t slice_size() const { return slice_; }
  Range slice(std::size_t rank, std::size_t k) const {
    const Range share = of(rank);
    const std::size_t from = std::min(k * slice_, share.count);
    return {share.first + from, std::min(slice_, share.count - from)};
  }

 private:
  std::size_t coordinates_, each_, slice_;
};

// One slice on its way: this rank's digits for everybody, and everybody's for this rank.
class Exchange {
 public:
  Exchange(MPI_Comm communicator, int rank, int size, std::size_t most_words)
      : communicator_(communicator), rank_(rank), size_(size), most_words_(most_words) {
    sent_.resize(static_cast<std::size_t>(size));
    received_.resize(static_cast<std::size_t>(size));
  }

  void start(const ExactMean& sum, const Shares& shares, std::size_t k) {
    requests_.clear();
    const int tag = static_cast<int>(k % 2);  // messages of a pair of ranks keep their order
    mine_ = shares.slice(static_cast<std::size_t>(rank_), k);
    for (int distance = 1; distance < size_ && mine_.count > 0; ++distance) {
      const int from = (rank_ + size_ - distance) % size_;
      Words& words = received_[static_cast<std::size_t>(from)];
      words.resize(most_words_);
      MPI_Irecv(words.data(), static_cast<int>(words.size()), MPI_UINT32_T, from, tag, communicator_,
                &requests_.emplace_back());
    }
    senders_ = requests_.size();
    for (int distance = 0; distance < size_; ++distance) {
      const int to = (rank_ + distance) % size_;
      const Range theirs = shares.slice(static_cast<std::size_t>(to), k);
      if (theirs.count == 0) continue;
      const auto words = sum.pack(theirs.first, theirs.count, sent_[static_cast<std::size_t>(to)]);
      if (to == rank_)
        own_ = words;
      else
        MPI_Isend(words.data(), static_cast<int>(words.size()), MPI_UINT32_T, to, tag, communicator_,
                  &requests_.emplace_back());
    }
  }

  // Adds up what came, in the order in which it came: it makes no difference.
  void finish(ExactMean& part, std::uint64_t total_weight) {
    if (mine_.count > 0) part.merge_packed(own_, total_weight);
    for (std::size_t left = senders_; left > 0; --left) {
      int index = 0;
      MPI_Status status;
      MPI_Waitany(static_cast<int>(senders_), requests_.data(), &index, &status);
      int count = 0;
      MPI_Get_count(&status, MPI_UINT32_T, &count);
      const Words& words = received_[static_cast<std::size_t>(status.MPI_SOURCE)];
      part.merge_packed(std::span(words).first(static_cast<std::size_t>(count)), 0);
    }
    MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
  }

 private:
  MPI_Comm communicator_;
  int rank_, size_;
  std::size_t most_words_;
  std::vector<Words> sent_, received_;
  std::span<const std::uint32_t> own_;
  std::vector<MPI_Request> requests_;  // those of what is received first
  std::size_t senders_ = 0;
  Range mine_;
};

template <class T>
MPI_Datatype type_of() {
  return sizeof(T) == sizeof(float) ? MPI_FLOAT : MPI_DOUBLE;
}

template <class T>
void hand_out(MPI_Comm communicator, int size, const Shares& shares, std::span<T> out) {
  std::vector<int> counts, firsts;
  for (int r = 0; r < size; ++r) {
    const Range share = shares.of(static_cast<std::size_t>(r));
    counts.push_back(static_cast<int>(share.count));
    firsts.push_back(static_cast<int>(share.first));
  }
  MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out.data(), counts.data(), firsts.data(), type_of<T>(),
                 communicator);
}

}  // namespace

template <class T>
void mean_over_ranks(MPI_Comm communicator, const ExactMean& sum, std::uint64_t total_weight,
                     std::span<T> out) {
  assert(out.size() == sum.size());
  if (out.size() > std::numeric_limits<int>::max())
    throw std::length_error("a vector of more than 2^31 - 1 numbers cannot be averaged over MPI");
  int rank = 0, size = 1;
  MPI_Comm_rank(communicator, &rank);
  MPI_Comm_size(communicator, &size);
  const Shares shares(out.size(), static_cast<std::size_t>(size));
  std::uint64_t most_words = sum.most_packed_words(shares.slice_size());
  MPI_Allreduce(MPI_IN_PLACE, &most_words, 1, MPI_UINT64_T, MPI_MAX, communicator);
  Exchange one(communicator, rank, size, most_words), other(communicator, rank, size, most_words);
  const std::array<Exchange*, 2> exchanges = {&one, &other};
  ExactMean part(shares.slice_size());
  for (std::size_t k = 0; k <= shares.slices(); ++k) {
    if (k < shares.slices()) exchanges[k % 2]->start(sum, shares, k);
    if (k == 0) continue;
    const Range now = shares.slice(static_cast<std::size_t>(rank), k - 1);
    if (now.count != part.size()) part = ExactMean(now.count);
    exchanges[(k - 1) % 2]->finish(part, total_weight);
    if (now.count == 0) continue;
    part.mean(out.subspan(now.first, now.count));
    part.clear();
  }
  hand_out(communicator, size, shares, out);
}

template void mean_over_ranks(MPI_Comm, const ExactMean&, std::uint64_t, std::span<float>);
template void mean_over_ranks(MPI_Comm, const ExactMean&, std::uint64_t, std::span<double>);

}  // namespace mfl
