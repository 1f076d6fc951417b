// A group of ranks that are threads of this process: what is divided among ranks is tested without MPI.
#pragma once

#include <gtest/gtest.h>

#include <barrier>
#include <cstddef>
#include <cstdlib>
#include <future>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mfl/engine/ranks.h"

namespace mfl::test {

// What the threads of one group share.
class RankGroup {
 public:
  explicit RankGroup(unsigned size) : slots_(size), barrier_(static_cast<std::ptrdiff_t>(size)) {}

  unsigned size() const { return static_cast<unsigned>(slots_.size()); }

  std::vector<std::string> gather(unsigned rank, std::string_view mine) {
    slots_[rank] = mine;
    barrier_.arrive_and_wait();
    std::vector<std::string> all = slots_;
    barrier_.arrive_and_wait();  // nobody writes before everybody has read
    return all;
  }

 private:
  std::vector<std::string> slots_;
  std::barrier<> barrier_;
};

class ThreadRanks final : public Ranks {
 public:
  ThreadRanks(RankGroup& group, unsigned rank) : group_(group), rank_(rank) {}

  unsigned rank() const override { return rank_; }
  unsigned size() const override { return group_.size(); }
  unsigned on_this_machine() const override { return group_.size(); }
  std::vector<std::string> gather(std::string_view mine) override { return group_.gather(rank_, mine); }
  std::vector<std::string> gather_at_first(std::string_view mine) override {
    std::vector<std::string> all = gather(mine);
    return first() ? std::move(all) : std::vector<std::string>();
  }
  void share(std::string& bytes) override { bytes = gather(bytes).front(); }
  // Loading data takes no means of vectors.
  void finish(SlicedSums<float>& /*sums*/, std::vector<Vector<float>>& /*out*/) override { std::abort(); }
  void finish(SlicedSums<double>& /*sums*/, std::vector<Vector<double>>& /*out*/) override { std::abort(); }
  void abort(int /*code*/) override { std::abort(); }

 private:
  RankGroup& group_;
  unsigned rank_;
};

// work(ranks) on every rank at once; the results in the order of ranks.
template <class Work>
auto on_ranks(unsigned size, const Work& work) {
  RankGroup group(size);
  std::vector<std::future<decltype(work(std::declval<Ranks&>()))>> running;
  for (unsigned rank = 0; rank < size; ++rank)
    running.push_back(std::async(std::launch::async, [&group, &work, rank] {
      ThreadRanks ranks(group, rank);
      return work(ranks);
    }));
  std::vector<decltype(work(std::declval<Ranks&>()))> out;
  for (auto& one : running) out.push_back(one.get());
  return out;
}

}  // namespace mfl::test
