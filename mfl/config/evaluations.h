// How often a run measures F(w) where its rounds do not do so in passing (LossRule): evaluate_every = "auto", resolved.
#pragma once

#include <cstdint>
#include <optional>

#include "mfl/config/config.h"

namespace mfl {

// Samples that the steps of a round read, and those that an evaluation after it reads: of all nodes, or of a share of them.
struct SamplesRead {
  std::uint64_t training = 0, evaluation = 0;
};

// From counts alone, so that every run of the configuration on the same data resolves it alike. Evaluations, with those of the
// first and the last State, read at most a fifth of what training reads, but there are at least 10 of them, one for each round of a
// shorter run, and at most 100; they are at States that have a record (`record_every`, steps) where few enough of those suffice. Where
// `read` is not known there are about ten. The configuration as it is where it says how often, or where nothing is to be evaluated.
Config with_evaluations(Config config, std::uint64_t record_every, const std::optional<SamplesRead>& read);

}  // namespace mfl
