// The loop over rounds, for everything that trains with an engine: recorded runs (training.h) and trials (mfl/advise/pilot.h).
#pragma once

#include <algorithm>
#include <atomic>
#include <concepts>
#include <cstdint>
#include <span>
#include <vector>

#include "mfl/base/result.h"
#include "mfl/engine/engine.h"

namespace mfl {

// What is trained: it decides where its rounds end, who takes part, what becomes of their results and when it is over.
template <class R, class T>
concept TrainsInRounds = requires(R run, const R& seen, std::uint64_t steps, const StepRange<T>& done) {
  { seen.over() } -> std::same_as<bool>;
  { seen.steps_left_in_round() } -> std::same_as<std::uint64_t>;  // > 0
  { run.range(steps) } -> std::same_as<Result<StepRange<T>>>;     // the next steps, for the engine
  { run.took(steps, done) } -> std::same_as<Result<void>>;        // the engine has run them
  { run.stop() } -> std::same_as<Result<void>>;                   // in place of the next steps
};

// Trains all until they are over, each range of steps for all of them at once: up to where the first of their rounds ends. Polls
// `stop`, if given, before each range; once it is set all of them stop. Calls `after` with the first that took part in a range.
template <class T, TrainsInRounds<T> R>
Result<void> train_rounds(Engine<T>& engine, std::span<R> runs, const std::atomic<bool>* stop,
                          const auto& after) {
  std::vector<R*> going;
  std::vector<StepRange<T>> ranges;
  for (;;) {
    going.clear();
    for (R& run : runs)
      if (!run.over()) going.push_back(&run);
    if (going.empty()) return {};
    if (engine.stop(stop != nullptr && stop->load(std::memory_order_relaxed))) {
      for (R* run : going) MFL_CHECK(run->stop());
      return {};
    }
    const std::uint64_t steps =
        (*std::ranges::min_element(going, {}, &R::steps_left_in_round))->steps_left_in_round();
    ranges.clear();
    for (R* run : going) {
      MFL_TRY(StepRange<T> range, run->range(steps));
      ranges.push_back(range);
    }
    engine.run(ranges, steps);
    for (std::size_t i = 0; i < going.size(); ++i) MFL_CHECK(going[i]->took(steps, ranges[i]));
    after(*going.front());
  }
}

}  // namespace mfl
