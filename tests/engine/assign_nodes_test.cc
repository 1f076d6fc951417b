#include "mfl/engine/assign_nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <functional>
#include <numeric>

namespace mfl {
namespace {

using ::testing::ElementsAre;

TEST(SpreadNodes, NeighboursStayTogetherAndNobodyHasTooMany) {
  EXPECT_THAT(assign_nodes(std::vector<std::size_t>{5, 5, 5, 5}, 2), ElementsAre(0, 2, 4));
  EXPECT_THAT(assign_nodes(std::vector<std::size_t>{9, 1, 1, 1}, 2), ElementsAre(0, 1, 4));
  EXPECT_THAT(assign_nodes(std::vector<std::size_t>{7}, 3), ElementsAre(0, 1, 1, 1));
  EXPECT_THAT(assign_nodes(std::vector<std::size_t>{}, 2), ElementsAre(0, 0, 0));
}

// The best split by trying all of them.
std::size_t least_possible(std::span<const std::size_t> work, std::size_t processes) {
  const auto sum = [](std::span<const std::size_t> part) {
    return std::accumulate(part.begin(), part.end(), std::size_t{0});
  };
  if (processes == 1 || work.empty()) return sum(work);
  std::size_t best = sum(work);
  for (std::size_t first = 0; first <= work.size(); ++first)
    best =
        std::min(best, std::max(sum(work.first(first)), least_possible(work.subspan(first), processes - 1)));
  return best;
}

TEST(SpreadNodes, IsAsEvenAsNeighboursAllow) {
  EXPECT_TRUE(rc::check([] {
    const auto work = *rc::gen::resize(
        8, rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(1, 30)));
    const auto processes = *rc::gen::inRange<std::size_t>(1, 5);
    const auto starts = assign_nodes(work, processes);
    RC_ASSERT(starts.size() == processes + 1);
    RC_ASSERT(starts.front() == 0U);
    RC_ASSERT(starts.back() == work.size());
    std::size_t most = 0;
    for (std::size_t p = 0; p < processes; ++p) {
      RC_ASSERT(starts[p] <= starts[p + 1]);
      most = std::max(
          most, std::accumulate(work.begin() + static_cast<std::ptrdiff_t>(starts[p]),
                                work.begin() + static_cast<std::ptrdiff_t>(starts[p + 1]), std::size_t{0}));
    }
    RC_ASSERT(most == least_possible(work, processes));
  }));
}

}  // namespace
}  // namespace mfl
