#include "mfl/experiment/evaluations.h"

#include <algorithm>
#include <numeric>

namespace mfl {
namespace {

constexpr std::uint64_t kFewest = 10, kMost = 100,
                        kTrainingShare = 5;  // evaluations, and 1 / share of the samples

constexpr std::uint64_t ratio_up(std::uint64_t a, std::uint64_t b) { return a / b + (a % b != 0 ? 1 : 0); }

// Of a run of so many rounds, with the first and the last State.
std::uint64_t evaluations(std::uint64_t rounds, std::uint64_t every) { return ratio_up(rounds, every) + 1; }

std::uint64_t resolved(std::uint64_t rounds, std::uint64_t between_records, const SamplesRead& read) {
  const std::uint64_t fewest_apart = std::max<std::uint64_t>(1, rounds / (kFewest - 1));
  const double affordable = static_cast<double>(rounds) * static_cast<double>(read.training) /
                            (static_cast<double>(kTrainingShare) * static_cast<double>(read.evaluation));
  const auto most = static_cast<std::uint64_t>(std::min(affordable, static_cast<double>(kMost)));
  const std::uint64_t apart = most < 2 ? fewest_apart : std::min(ratio_up(rounds, most - 1), fewest_apart);
  const std::uint64_t at_records = ratio_up(apart, between_records) * between_records;
  return evaluations(rounds, at_records) >= std::min(kFewest, rounds + 1) ? at_records : apart;
}

}  // namespace

SamplesRead samples_read(const Experiment& experiment, std::size_t nodes,
                         const std::function<std::uint64_t(std::size_t)>& samples_of) {
  const Batching& batching = experiment.batching;
  const std::uint64_t length = experiment.round_length();
  SamplesRead read;
  for (std::size_t node = 0; node < nodes; ++node) {
    const std::uint64_t samples = samples_of(node);
    const std::uint64_t of_step = batching.batch_size == 0 ? samples : std::min(batching.batch_size, samples);
    read.evaluation += samples;
    read.training += batching.by_epochs ? length * samples : length * of_step;
  }
  return read;
}

void settle_evaluations(Experiment& experiment, const std::optional<SamplesRead>& read) {
  const RunConfig& run = experiment.config.run;
  if (run.evaluate_every || !experiment.needs_evaluations()) return;
  // How many rounds there will be is not known.
  if (experiment.budget.limits() && run.rounds == 0 && !run.steps)
    return experiment.settle_evaluations(
        read ? std::max<std::uint64_t>(
                   1, ratio_up(kTrainingShare * read->evaluation, std::max<std::uint64_t>(1, read->training)))
             : kFewest);
  const std::uint64_t length = experiment.round_length();
  const std::uint64_t rounds = ratio_up(experiment.steps, length);
  const std::uint64_t between_records =
      experiment.cadence.record_every / std::gcd(experiment.cadence.record_every, length);
  experiment.settle_evaluations(
      resolved(rounds, between_records, read && read->evaluation > 0 ? *read : SamplesRead{0, 1}));
}

}  // namespace mfl
