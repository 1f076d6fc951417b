// How often a run measures F(w) where its rounds do not do so in passing (LossRule): evaluate_every = "auto", resolved.
#pragma once

#include <cstdint>
#include <optional>

#include "mfl/experiment/experiment.h"

namespace mfl {

// Samples that the steps of a round read, and those that an evaluation after it reads: of all nodes, or of a share of them.
struct SamplesRead {
  std::uint64_t training = 0, evaluation = 0;
};
// Of nodes with so many samples each.
SamplesRead samples_read(const Experiment& experiment, std::size_t nodes,
                         const std::function<std::uint64_t(std::size_t node)>& samples_of);

// From counts alone, so that every run of the experiment on the same data resolves it alike. Evaluations, with those of the
// first and the last State, read at most a fifth of what training reads, but there are at least 10 of them, one for each round of a
// shorter run, and at most 100; they are at States that have a record where few enough of those suffice. Where `read` is not known there
// are about ten. No change where the configuration says how often, or where nothing is to be evaluated.
void settle_evaluations(Experiment& experiment, const std::optional<SamplesRead>& read);

}  // namespace mfl
