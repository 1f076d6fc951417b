// The mean of the updates of the first half of the nodes, rounded up.
#include <mfl/aggregate/aggregator.h>
#include <mfl/aggregate/exact_mean.h>

#include "extensions.h"

namespace {

class FirstHalf final : public mfl::AggregatorOf<FirstHalf> {
 public:
  using AggregatorOf::AggregatorOf;

  template <class T>
  void combine(std::span<const mfl::NodeVectors<T>> updates, const mfl::NodeVectors<T>& /*broadcast*/,
               std::vector<mfl::Vector<T>>& out, const mfl::ForEach& run) const {
    run(out.size(), [&](std::size_t v) {
      mfl::ExactMean mean(out[v].size());
      for (std::size_t i = 0; i < (updates.size() + 1) / 2; ++i) mean.add(updates[i].vectors[v], 1);
      mean.mean(std::span<T>(out[v]));
    });
  }
};

}  // namespace

void add_first_half() {
  mfl::aggregators().add({{.name = "first-half", .description = "the mean of the first half of the nodes"},
                          [](std::string spec, const mfl::ParameterValues&)
                              -> mfl::Result<std::unique_ptr<const mfl::Aggregator>> {
                            return std::make_unique<FirstHalf>(std::move(spec));
                          }});
}
