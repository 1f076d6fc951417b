#include "mfl/engine/assign_nodes.h"

#include <algorithm>
#include <numeric>

namespace mfl {
namespace {

// As many nodes to each in turn as stay within the limit; ends early where that is not enough processes.
std::vector<std::size_t> fill_up_to(std::span<const std::size_t> work, std::size_t processes,
                                    std::size_t limit) {
  std::vector<std::size_t> starts = {0};
  std::size_t node = 0;
  while (starts.size() <= processes) {
    std::size_t sum = 0;
    while (node < work.size() && work[node] <= limit - sum) sum += work[node++];
    starts.push_back(node);
  }
  return starts;
}

}  // namespace

std::vector<std::size_t> assign_nodes(std::span<const std::size_t> work, std::size_t processes) {
  std::size_t low = 0, high = std::accumulate(work.begin(), work.end(), std::size_t{0});
  if (!work.empty()) low = *std::ranges::max_element(work);
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (fill_up_to(work, processes, middle).back() == work.size())
      high = middle;
    else
      low = middle + 1;
  }
  return fill_up_to(work, processes, low);
}

}  // namespace mfl
