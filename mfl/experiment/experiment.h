// What the names of a configuration mean, looked up once and passed on: a run, a sweep, a study, a server and a node start from an
// Experiment, and ask no table again.
//
//   MFL_CHECK(validate(config));
//   const Experiment experiment(config);
//   MFL_TRY(const Problem<float> problem, load_problem<float>(experiment));
//   const auto engine = make_engine<float>({&experiment, 1}, problem.federation, ranks);
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "mfl/aggregate/aggregator.h"
#include "mfl/algorithm/algorithm.h"
#include "mfl/algorithm/early_stop.h"
#include "mfl/algorithm/losses.h"
#include "mfl/algorithm/participation.h"
#include "mfl/codec/codec.h"
#include "mfl/config/config.h"
#include "mfl/config/entries.h"
#include "mfl/data/schema.h"
#include "mfl/devices/virtual_time.h"
#include "mfl/model/models.h"
#include "mfl/model/tensors.h"
#include "mfl/solve/batches.h"
#include "mfl/theory/adaptive_tau.h"

namespace mfl {

// How often a run is recorded. Does not affect its numbers.
struct Cadence {
  std::uint64_t record_every = 1;      // steps between records with test metrics
  std::uint64_t checkpoint_every = 0;  // rounds between checkpoints; 0: only when stopped
};

// What a run may use, and how long its rounds are because of that.
struct BudgetRule {
  std::optional<double> seconds = {};       // virtual where the run has virtual time, else of a clock
  std::optional<std::uint64_t> bytes = {};  // up and down
  std::optional<TauRule> adaptive = {};     // nothing: rounds of the algorithm's tau

  bool limits() const { return seconds || bytes; }
};

// A plain value. What a run finds out before it starts is told it by the settle functions.
struct Experiment {
  // `config` must have passed validate().
  explicit Experiment(Config config);

  Config config;            // as a run records it
  const ModelEntry* model;  // of models()
  Algorithm algorithm;      // with the step size `eta`
  double eta;               // as given or measured; else kPaperEta
  double lambda;            // as given; else that of the model
  std::uint64_t steps;      // of the run; local epochs where local_epochs is given
  Batching batching;
  // A centralised algorithm has the mean, sends nothing, and all take part.
  std::shared_ptr<const Aggregator> aggregator;
  CodecChain codecs;
  Participation participation;
  std::optional<VirtualTime> time;  // absent where nothing describes devices or a network
  Cadence cadence;                  // about a hundred records where record_every is 0
  LossRule losses;
  StopRule stop;
  bool uses_gamma;
  BudgetRule budget;

  bool centralised() const { return algorithm.centralised; }
  bool external() const { return model->external; }
  // Whether rounds do not measure F(w) in passing.
  bool needs_evaluations() const { return losses.passing != LossRule::Passing::kTrain; }
  // Of a round: local steps, or local epochs; one step for a centralised algorithm.
  std::uint64_t round_length() const { return centralised() ? 1 : mfl::round_length(config.algorithm); }

  // For data of a complete schema with this many columns.
  template <class T>
  std::shared_ptr<const Model<T>> make_model(std::size_t columns, const Schema& schema) const {
    ModelShape shape{columns, schema.classes.size(),
                     effective_intercept(config.model, schema.own_data.value_or(false))};
    if (!schema.tensors.empty()) shape.tensors = parse_tensors(schema.tensors).value();
    return model->make<T>(shape);
  }
  // `samples_of` is called only when there is virtual time.
  Population population(std::size_t nodes, std::size_t parameters,
                        std::function<std::size_t(std::size_t node)> samples_of) const;

  // The step size that was measured. The configuration still leaves it to be measured.
  void settle_eta(double measured);
  // The rounds between evaluations, which the configuration then says.
  void settle_evaluations(std::uint64_t every);
};

}  // namespace mfl
