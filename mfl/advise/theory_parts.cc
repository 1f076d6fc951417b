#include "mfl/advise/theory_parts.h"

#include "mfl/aggregate/exact_mean.h"

namespace mfl {

Average exact_average(const std::vector<Shard>& nodes, std::size_t columns) {
  return [&nodes, sum = ExactMean(columns)](std::span<const Vector<double>* const> vectors,
                                            Vector<double>& mean) mutable {
    sum.clear();
    for (std::size_t i = 0; i < vectors.size(); ++i)
      if (sum.add(std::span<const double>(*vectors[i]), nodes[i].count)) return false;
    sum.mean(std::span<double>(mean));
    return true;
  };
}

}  // namespace mfl
