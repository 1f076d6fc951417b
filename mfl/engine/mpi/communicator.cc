#include "mfl/engine/mpi/communicator.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <span>

#include "mfl/engine/mpi/mean_over_ranks.h"
#include "mfl/engine/mpi/mpi.h"

namespace mfl {
namespace {

class MpiRanks : public Ranks {
 public:
  MpiRanks(MPI_Comm communicator, std::uint64_t most) : communicator_(communicator), most_(most) {
    MPI_Comm_rank(communicator, &rank_);
    MPI_Comm_size(communicator, &size_);
    MPI_Comm here = MPI_COMM_NULL;
    MPI_Comm_split_type(communicator, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
    MPI_Comm_size(here, &here_);
    MPI_Comm_free(&here);
  }

  unsigned rank() const override { return static_cast<unsigned>(rank_); }
  unsigned size() const override { return static_cast<unsigned>(size_); }
  unsigned on_this_machine() const override { return static_cast<unsigned>(here_); }

  std::vector<std::string> gather(std::string_view mine) override {
    const auto ranks = static_cast<std::size_t>(size_);
    std::vector<std::uint64_t> sizes(ranks);
    const std::uint64_t size = mine.size();
    MPI_Allgather(&size, 1, MPI_UINT64_T, sizes.data(), 1, MPI_UINT64_T, communicator_);
    const std::uint64_t total = std::reduce(sizes.begin(), sizes.end());
    return total <= most_ ? gather_at_once(mine, sizes) : gather_in_turn(mine, sizes);
  }

  std::vector<std::string> gather_at_first(std::string_view mine) override {
    std::uint64_t size = mine.size();
    if (!first()) {
      MPI_Send(&size, 1, MPI_UINT64_T, 0, 0, communicator_);
      in_pieces(size, [&](std::uint64_t at, int count) {
        MPI_Send(mine.data() + at, count, MPI_CHAR, 0, 0, communicator_);
      });
      return {};
    }
    std::vector<std::string> all = {std::string(mine)};
    for (int rank = 1; rank < size_; ++rank) {
      MPI_Recv(&size, 1, MPI_UINT64_T, rank, 0, communicator_, MPI_STATUS_IGNORE);
      std::string& theirs = all.emplace_back(size, '\0');
      in_pieces(size, [&](std::uint64_t at, int count) {
        MPI_Recv(theirs.data() + at, count, MPI_CHAR, rank, 0, communicator_, MPI_STATUS_IGNORE);
      });
    }
    return all;
  }

  void share(std::string& bytes) override {
    std::uint64_t size = bytes.size();
    MPI_Bcast(&size, 1, MPI_UINT64_T, 0, communicator_);
    bytes.resize(size);
    share_from(0, bytes);
  }

  void finish(SlicedSums<float>& sums, std::vector<Vector<float>>& out) override {
    mean_over_ranks(communicator_, sums, out);
  }
  void finish(SlicedSums<double>& sums, std::vector<Vector<double>>& out) override {
    mean_over_ranks(communicator_, sums, out);
  }

  void abort(int code) override {
    MPI_Abort(communicator_, code);
    std::_Exit(code);
  }

 private:
  void in_pieces(std::uint64_t size, const std::function<void(std::uint64_t, int)>& piece) const {
    for (std::uint64_t at = 0; at < size; at += most_)
      piece(at, static_cast<int>(std::min(most_, size - at)));
  }

  // `bytes` has its size on every rank.
  void share_from(int root, std::string& bytes) {
    in_pieces(bytes.size(), [&](std::uint64_t at, int count) {
      MPI_Bcast(bytes.data() + at, count, MPI_CHAR, root, communicator_);
    });
  }

  std::vector<std::string> gather_at_once(std::string_view mine, std::span<const std::uint64_t> sizes) {
    const std::vector<int> counts(sizes.begin(), sizes.end());
    std::vector<int> firsts(sizes.size());
    std::exclusive_scan(counts.begin(), counts.end(), firsts.begin(), 0);
    std::string all(static_cast<std::size_t>(firsts.back()) + sizes.back(), '\0');
    if (!all.empty())
      MPI_Allgatherv(mine.data(), counts[rank()], MPI_CHAR, all.data(), counts.data(), firsts.data(),
                     MPI_CHAR, communicator_);
    std::vector<std::string> out;
    out.reserve(sizes.size());
    for (std::size_t r = 0; r < sizes.size(); ++r)
      out.emplace_back(all, static_cast<std::size_t>(firsts[r]), sizes[r]);
    return out;
  }

  std::vector<std::string> gather_in_turn(std::string_view mine, std::span<const std::uint64_t> sizes) {
    std::vector<std::string> out;
    out.reserve(sizes.size());
    for (int root = 0; root < size_; ++root) {
      std::string& theirs = out.emplace_back();
      if (root == rank_)
        theirs = mine;
      else
        theirs.resize(sizes[static_cast<std::size_t>(root)]);
      share_from(root, theirs);
    }
    return out;
  }

  MPI_Comm communicator_;
  std::uint64_t most_;  // bytes of one message: MPI counts with int
  int rank_ = 0, size_ = 1, here_ = 1;
};

struct MpiSession {
  MpiSession() {
    int level = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level);
  }
  ~MpiSession() { MPI_Finalize(); }
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;
};

class AllRanks final : private MpiSession, public MpiRanks {
 public:
  AllRanks() : MpiRanks(MPI_COMM_WORLD, kLargestMessage) {}
};

}  // namespace

std::unique_ptr<Ranks> ranks_over(MPI_Comm communicator, std::uint64_t largest_message) {
  return std::make_unique<MpiRanks>(communicator, largest_message);
}

Result<std::unique_ptr<Ranks>> mpi_ranks() { return std::make_unique<AllRanks>(); }

}  // namespace mfl
