#include "mfl/advise/diagnose.h"

#include <fmt/core.h>

#include <chrono>
#include <utility>

#include "mfl/advise/theory_parts.h"
#include "mfl/algorithm/state.h"
#include "mfl/config/entries.h"
#include "mfl/engine/workers.h"
#include "mfl/experiment/engines.h"
#include "mfl/load/problem.h"
#include "mfl/run/step_size.h"

namespace mfl {
namespace {

std::string digest_of(const Vector<double>& w) {
  State<double> state;
  state.vectors.push_back({"w", w});
  return weights_digest(state);
}

// Progress of the runs together.
class Meter {
 public:
  Meter(const RunHooks& hooks, std::uint64_t all) : hooks_(hooks), all_(all) {}

  bool at(std::uint64_t step, double loss) {
    if (hooks_.progress)
      hooks_.progress(
          {.step = before_ + step,
           .steps = all_,
           .round = 0,
           .losses = {.train_loss = loss},
           .wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count()});
    return hooks_.stop == nullptr || !hooks_.stop->load(std::memory_order_relaxed);
  }
  void next_run(std::uint64_t steps) { before_ += steps; }

 private:
  const RunHooks& hooks_;
  std::uint64_t all_, before_ = 0;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

struct Runs {
  const Problem<double>& problem;
  Objective objective;
  Average average;
  ForEach run;
  std::uint64_t tau, steps;

  Result<RunDiagnosis> measure(std::string algorithm, double eta, double gamma,
                               const std::optional<Optimum>& optimum, Meter& meter) const {
    const PathOptions options{
        .eta = eta,
        .gamma = gamma,
        .tau = tau,
        .steps = steps,
        .optimum = optimum ? &optimum->w : nullptr,
        .run = &run,
        .progress = [&](std::uint64_t step, double loss) { return meter.at(step, loss); }};
    Path path = measure_path(objective, problem.federation.train, problem.federation.nodes, average, options);
    meter.next_run(steps);
    if (path.stopped)
      return fail(ErrorCode::kRunFailed, "the theory run was interrupted",
                  "it is not recorded; start it again");
    return RunDiagnosis{std::move(algorithm), {eta, 0, gamma}, std::move(path), {}, {}, {}};
  }
};

// The configuration with a loss of the paper: a linear model in which every parameter is regularised and samples
// count alike. An intercept that the defaults add is left out.
Result<Config> paper_losses(Config config) {
  if (!entry_of(config.model).loss)
    return fail(ErrorCode::kBadConfig,
                fmt::format("mfl theory run measures linear models, and the model is {}", config.model.name),
                "use " + model_names([](const ModelEntry& entry) { return entry.loss.has_value(); }));
  if (config.model.intercept.value_or(false))
    return fail(ErrorCode::kBadConfig,
                "mfl theory run measures the paper's losses, which regularise every parameter",
                "add --intercept false");
  if (config.model.weighs_classes())
    return fail(ErrorCode::kBadConfig,
                "mfl theory run measures the paper's losses, in which samples count alike",
                "leave class_weight out");
  if (is_own_data(config.data.source)) config.model.intercept = false;
  return config;
}

}  // namespace

Result<TheoryOutcome> diagnose_experiment(const Config& config, const RunHooks& hooks) {
  MFL_CHECK(require_all_nodes(config, "mfl theory run"));
  MFL_TRY(Config paper, paper_losses(config));
  paper.run.precision = Precision::kF64;
  Experiment experiment(std::move(paper));
  const Loss loss = *experiment.model->loss;
  MFL_TRY(const Problem<double> problem, load_problem<double>(experiment));
  MFL_CHECK(settle_eta(experiment, problem));
  TheoryOutcome out;
  out.config = experiment.config;
  out.config.algorithm.eta = experiment.eta;
  out.load_seconds = problem.load_seconds;
  const auto start = std::chrono::steady_clock::now();
  const Algorithm& algorithm = experiment.algorithm;
  const auto descent = algorithm.method().descent();
  if (!descent)
    return fail(ErrorCode::kBadConfig,
                fmt::format("mfl theory run measures the paper's algorithms, and this is {}", algorithm.name),
                "use gd, mgd, fl or mfl");
  const auto workers = make_workers(config.run);
  const Federation<double>& federation = problem.federation;
  const Runs runs{problem,
                  {loss, experiment.lambda},
                  exact_average(federation.nodes, federation.train.columns()),
                  for_each_of(*workers),
                  algorithm.tau,
                  experiment.steps};

  Diagnosis& diagnosis = out.diagnosis;
  diagnosis.model = config.model.name;
  diagnosis.loss = loss;
  diagnosis.tau = algorithm.tau;
  diagnosis.steps = experiment.steps;
  diagnosis.nodes = federation.nodes.size();
  MFL_TRY(diagnosis.curvature,
          measure_curvature(runs.objective, federation.train, federation.nodes, &runs.run));
  if (diagnosis.curvature) diagnosis.optimum = find_optimum(runs.objective, federation.train, {}, &runs.run);
  const double eta = descent->eta, gamma = descent->gamma;
  Meter meter(hooks, experiment.steps * (gamma > 0 ? 2 : 1));
  MFL_TRY(diagnosis.run, runs.measure(algorithm.name, eta, gamma, diagnosis.optimum, meter));
  if (gamma > 0) {
    MFL_TRY(diagnosis.fl,
            runs.measure(algorithm.centralised ? "gd" : "fl", eta, 0, diagnosis.optimum, meter));
  }
  judge(diagnosis);
  out.digest = digest_of(diagnosis.run.path.w);
  out.wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return out;
}

}  // namespace mfl
