#include "mfl/run/external_run.h"

#include <chrono>
#include <utility>

#include "mfl/base/digest.h"
#include "mfl/load/memory_need.h"
#include "mfl/model/starting_model.h"
#include "mfl/solve/batches.h"

namespace mfl {

TrainerIntroduction introduction_of(const Experiment& experiment, std::vector<std::string> nodes) {
  return {.nodes = std::move(nodes),
          .precision = experiment.config.run.precision,
          .seed = experiment.config.run.seed,
          .algorithm = experiment.algorithm.name,
          .steps = experiment.algorithm.method().node_steps().value(),
          .batch_size = experiment.batching.batch_size};
}

template <class T>
Problem<T> external_problem(std::shared_ptr<Trainers> trainers) {
  const TrainerFacts& facts = trainers->facts();
  Problem<T> problem{.federation = {.model = external_model<T>(facts.tensors),
                                    .train = Samples<T>::buffer(0, 1, 1),
                                    .nodes = {},
                                    .test = {}},
                     .has_accuracy = true,
                     .schema = facts.schema};
  Sha256 digest;
  digest.update(schema_json(facts.schema));
  std::size_t first = 0;
  for (const std::uint64_t samples : facts.samples) {
    problem.federation.nodes.push_back({first, static_cast<std::size_t>(samples)});
    first += static_cast<std::size_t>(samples);
    digest.update(samples);
  }
  problem.data_digest = problem.train_digest = digest.finish_hex();
  problem.federation.names = trainers->introduction().nodes;
  problem.federation.external = external_nodes<T>(std::move(trainers));
  return problem;
}

template <class T>
Result<Problem<T>> start_trainers(const Experiment& experiment, const std::optional<TrainerSetup>& setup) {
  const Config& config = experiment.config;
  if (!setup)
    return fail(ErrorCode::kBadConfig, "model external is trained by your own program",
                "name it with --trainer");
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::string> nodes;
  for (std::size_t i = 0; i < config.federation.nodes; ++i) nodes.push_back(node_name(i));
  TrainerSetup limited = *setup;
  if (limited.max_norm == 0) limited.max_norm = config.federation.max_update_norm;
  MFL_TRY(auto trainers, catch_external([&] {
            return Trainers::open(limited, introduction_of(experiment, std::move(nodes)));
          }));
  std::size_t parameters = 0;
  for (const Tensor& tensor : trainers->facts().tensors) parameters += tensor.size();
  MFL_CHECK(require_memory<T>(experiment, parameters));
  Problem<T> problem = external_problem<T>(std::move(trainers));
  if (config.run.init.empty())
    MFL_CHECK(catch_external([&]() -> Result<void> {
      Vector<T> w(problem.federation.model->parameters());
      problem.federation.external->initialise(w, config.run.seed, stop_poll(limited.stop));
      problem.federation.model = starting_from(problem.federation.model, std::move(w));
      return {};
    }));
  problem.load_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return problem;
}

template Problem<float> external_problem(std::shared_ptr<Trainers>);
template Problem<double> external_problem(std::shared_ptr<Trainers>);
template Result<Problem<float>> start_trainers(const Experiment&, const std::optional<TrainerSetup>&);
template Result<Problem<double>> start_trainers(const Experiment&, const std::optional<TrainerSetup>&);

}  // namespace mfl
