#include "mfl/config/evaluations.h"

#include <algorithm>
#include <numeric>

#include "mfl/config/factory.h"

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

Config with_evaluations(Config config, std::uint64_t record_every, const std::optional<SamplesRead>& read) {
  if (config.run.evaluate_every || !needs_evaluations(config)) return config;
  const std::uint64_t length = is_centralised(config.algorithm) ? 1 : round_length(config.algorithm);
  if (has_budget(config.run) && config.run.rounds == 0 && !config.run.steps) {
    // How many rounds there will be is not known.
    config.run.evaluate_every =
        read ? std::max<std::uint64_t>(
                   1, ratio_up(kTrainingShare * read->evaluation, std::max<std::uint64_t>(1, read->training)))
             : kFewest;
    return config;
  }
  const std::uint64_t rounds = ratio_up(run_length(config), length);
  const std::uint64_t between_records = record_every / std::gcd(record_every, length);
  config.run.evaluate_every =
      resolved(rounds, between_records, read && read->evaluation > 0 ? *read : SamplesRead{0, 1});
  return config;
}

}  // namespace mfl
