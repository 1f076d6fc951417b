#include "mfl/advise/advise.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "mfl/advise/theory_parts.h"
#include "mfl/config/entries.h"
#include "mfl/engine/workers.h"
#include "mfl/experiment/engines.h"
#include "mfl/load/problem.h"
#include "mfl/run/step_size.h"
#include "mfl/theory/curvature.h"
#include "mfl/theory/diagnosis.h"
#include "mfl/theory/drift.h"
#include "mfl/theory/hessian.h"
#include "mfl/theory/optimum.h"

namespace mfl {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// To so many significant digits, for numbers that people will type.
double rounded(double x, int digits) {
  if (x == 0) return 0;
  const double unit = std::pow(10.0, std::floor(std::log10(std::abs(x))) - digits + 1);
  return std::stod(fmt::format("{:.{}g}", std::round(x / unit) * unit, digits + 1));
}

class Budget {
 public:
  Budget(const AdviseOptions& options, std::uint64_t vector_bytes)
      : options_(options), vector_bytes_(vector_bytes) {}

  std::uint64_t rounds(double gamma) const {
    if (options_.rounds) return *options_.rounds;
    const std::uint64_t vectors = gamma == 0 ? 1 : 2;  // w, or w and d
    return *options_.bytes / (2 * vectors * vector_bytes_);
  }

 private:
  const AdviseOptions& options_;
  std::uint64_t vector_bytes_;  // of one vector from or to every node
};

// Trial runs, and the loss that they predict for a setting.
template <class T>
class Trials {
 public:
  Trials(const Federation<T>& federation, const Experiment& experiment, const AdviseOptions& options,
         const Budget& budget, std::optional<double> least_loss, const RunHooks& hooks)
      : federation_(federation),
        experiment_(experiment),
        options_(options),
        budget_(budget),
        least_loss_(least_loss),
        hooks_(hooks) {}

  // Tries each for `share` of its rounds. A trial that was run before is not run again.
  Result<std::vector<PilotRun>> run(const std::vector<PilotSetting>& settings, double share) {
    std::vector<PilotRun> fresh;
    std::vector<Trial> asked;
    for (const PilotSetting& setting : settings) {
      const auto whole = static_cast<double>(trial_rounds(setting.gamma));
      const auto rounds = static_cast<std::uint64_t>(std::ceil(whole * share));
      asked.emplace_back(setting.eta, setting.gamma, setting.tau, rounds);
      if (!known_.contains(asked.back())) fresh.push_back({setting, rounds, {}});
    }
    tried_ += fresh.size();
    if (!run_pilots<T>(federation_, experiment_.lambda, experiment_.config.run, fresh, hooks_.stop))
      return fail(ErrorCode::kRunFailed, "interrupted before a recommendation was found",
                  "run the command again");
    for (PilotRun& run : fresh)
      known_.try_emplace({run.setting.eta, run.setting.gamma, run.setting.tau, run.rounds}, std::move(run));
    std::vector<PilotRun> runs;
    for (const Trial& trial : asked) runs.push_back(known_.at(trial));
    return runs;
  }

  std::uint64_t trial_rounds(double gamma) const {
    return std::min(budget_.rounds(gamma), options_.pilot_rounds);
  }

  // The loss to expect when the budget is spent: the least one seen where the trial was that long, else the gap to the
  // least possible loss is taken to keep falling as it did over the second half of the trial.
  double expected_loss(const PilotRun& run) const {
    const double best = run.best(run.rounds);
    const auto rounds = static_cast<double>(run.rounds);
    const double left = static_cast<double>(budget_.rounds(run.setting.gamma)) - rounds;
    if (!(left > 0) || !least_loss_ || run.rounds < 2 || !std::isfinite(best)) return best;
    const std::size_t half = run.rounds / 2;
    const double gap = best - *least_loss_, before = run.best(half) - *least_loss_;
    if (!(gap > 0) || !(before > gap)) return best;
    const double rate = std::log(gap / before) / (rounds - static_cast<double>(half));
    return *least_loss_ + gap * std::exp(rate * left);
  }

  std::uint64_t tried() const { return tried_; }

 private:
  const Federation<T>& federation_;
  const Experiment& experiment_;
  const AdviseOptions& options_;
  const Budget& budget_;
  std::optional<double> least_loss_;
  const RunHooks& hooks_;
  using Trial = std::tuple<double, double, std::uint64_t, std::uint64_t>;  // eta, gamma, tau, rounds
  std::map<Trial, PilotRun> known_;
  std::uint64_t tried_ = 0;
};

std::vector<PilotSetting> coarse_grid(double beta, std::uint64_t most_tau) {
  std::vector<PilotSetting> out;
  for (const double gamma : {0.0, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98})
    for (const double share : {0.03, 0.07, 0.15, 0.3, 0.6, 0.95})
      for (std::uint64_t tau = 1; tau <= most_tau; tau *= 2)
        out.push_back({rounded(share * 2 * (1 + gamma) / beta, 3), gamma, tau});
  return out;
}

std::uint64_t moved_tau(std::uint64_t tau, double factor, std::uint64_t most) {
  const auto now = static_cast<double>(tau);
  double to = std::round(now * factor);
  if (factor > 1) to = std::max(to, now + 1);
  if (factor < 1) to = std::min(to, now - 1);
  return static_cast<std::uint64_t>(std::clamp(to, 1.0, static_cast<double>(most)));
}

// Settings around one: eta and 1 - gamma up and down by the factor, alone and together, and tau alone.
std::vector<PilotSetting> around(const PilotSetting& centre, double factor, double beta,
                                 std::uint64_t most_tau) {
  std::vector<PilotSetting> out;
  const auto add = [&](double eta_step, double gamma_step, double tau_step) {
    PilotSetting setting = centre;
    setting.gamma = rounded(1 - rounded(std::clamp((1 - centre.gamma) * gamma_step, 1e-3, 1.0), 3), 4);
    constexpr double kMargin = 0.99;  // more than rounding to three digits takes
    const double stable = 2 * (1 + setting.gamma) / beta;
    setting.eta = rounded(std::min(centre.eta * eta_step, kMargin * stable), 3);
    if (tau_step != 1) setting.tau = moved_tau(centre.tau, tau_step, most_tau);
    if (setting != centre && std::ranges::find(out, setting) == out.end()) out.push_back(setting);
  };
  const double up = factor, down = 1 / factor;
  for (const double step : {up, down}) {
    add(step, 1, 1);
    add(1, step, 1);
    add(step, up, 1);
    add(step, down, 1);
    add(1, 1, step);
  }
  return out;
}

template <class T>
void sort_by_promise(std::vector<PilotRun>& runs, const Trials<T>& trials) {
  std::ranges::stable_sort(runs, {}, [&](const PilotRun& run) {
    const double loss = trials.expected_loss(run);
    return std::isfinite(loss) ? loss : kInfinity;
  });
}

std::vector<PilotSetting> first_settings(const std::vector<PilotRun>& runs, std::size_t count) {
  std::vector<PilotSetting> out;
  for (std::size_t i = 0; i < std::min(count, runs.size()); ++i) out.push_back(runs[i].setting);
  return out;
}

// Goes to a better neighbour while there is one, in ever smaller steps.
template <class T>
Result<PilotRun> climb(Trials<T>& trials, PilotRun best, double beta, std::uint64_t most_tau) {
  constexpr int kMostStages = 20;
  double factor = 1.5;
  for (int stage = 0; stage < kMostStages && factor > 1.03; ++stage) {
    MFL_TRY(auto near, trials.run(around(best.setting, factor, beta, most_tau), 1));
    sort_by_promise(near, trials);
    if (!near.empty() && trials.expected_loss(near.front()) < trials.expected_loss(best))
      best = near.front();
    else
      factor = std::sqrt(factor);
  }
  return best;
}

// Heats of growing length over a coarse grid, then a search around the winners.
template <class T>
Result<PilotRun> search(Trials<T>& trials, double beta, std::uint64_t most_tau,
                        const std::optional<PilotSetting>& seed) {
  std::vector<PilotSetting> settings = coarse_grid(beta, most_tau);
  if (seed) settings.push_back(*seed);
  for (const auto& [share, keep] : {std::pair(0.125, 4.0), std::pair(0.4, 4.0)}) {
    MFL_TRY(auto runs, trials.run(settings, share));
    sort_by_promise(runs, trials);
    settings =
        first_settings(runs, static_cast<std::size_t>(std::ceil(static_cast<double>(runs.size()) / keep)));
  }
  MFL_TRY(auto finalists, trials.run(settings, 1));
  sort_by_promise(finalists, trials);
  if (!std::isfinite(trials.expected_loss(finalists.front())))
    return fail(ErrorCode::kRunFailed, "every trial run diverged",
                "check the data with mfl data info, and scale it");
  constexpr std::size_t kStarts = 3;
  std::vector<PilotRun> found;
  for (std::size_t i = 0; i < std::min(kStarts, finalists.size()); ++i) {
    MFL_TRY(PilotRun climbed, climb(trials, finalists[i], beta, most_tau));
    found.push_back(std::move(climbed));
  }
  sort_by_promise(found, trials);
  return found.front();
}

// The constants of the data, and the lowest bound of Proposition 2 over a grid, from short measured paths.
Result<TheoryAdvice> theory_advice(const Problem<double>& problem, const Experiment& experiment,
                                   const Budget& budget, std::uint64_t most_tau) {
  constexpr std::uint64_t kProbeSteps = 40, kProbeTau = 4;
  const Federation<double>& federation = problem.federation;
  const Objective objective{*experiment.model->loss, experiment.lambda};
  const auto workers = make_workers(experiment.config.run);
  const ForEach run = for_each_of(*workers);
  const Average average = exact_average(federation.nodes, federation.train.columns());
  MFL_TRY(const auto curvature, measure_curvature(objective, federation.train, federation.nodes, &run));
  const Optimum optimum = find_optimum(objective, federation.train, {}, &run);
  TheoryAdvice out;
  out.beta = curvature->beta;
  out.mu = curvature->mu;
  out.least_loss = optimum.loss;
  out.bounded_eta = 1 / curvature->beta;
  out.bound = kInfinity;
  for (const double gamma : {0.0, 0.3, 0.5, 0.7, 0.8, 0.9})
    for (const double eta_beta : {0.1, 0.3, 0.6}) {
      const StepParameters step{rounded(eta_beta / out.beta, 3), out.beta, gamma};
      const PathOptions options{.eta = step.eta,
                                .gamma = gamma,
                                .tau = kProbeTau,
                                .steps = kProbeSteps,
                                .optimum = &optimum.w,
                                .run = &run,
                                .progress = {}};
      const Path path = measure_path(objective, federation.train, federation.nodes, average, options);
      if (path.intervals.empty()) continue;
      const PathConstants constants = path_constants(path, step);
      out.delta = std::max(out.delta, constants.delta);
      if (!(constants.alpha > 0) || (gamma > 0 && constants.cos_theta < 0)) continue;
      for (std::uint64_t tau = 1; tau <= most_tau; tau *= 2) {
        const double h = drift_at({step.eta, out.beta, gamma}, tau).w.times(constants.delta);
        const std::uint64_t rounds = budget.rounds(gamma);
        const double bound =
            convergence_bound(static_cast<double>(rounds * tau),
                              {constants.omega, constants.alpha, constants.rho, h, static_cast<double>(tau)});
        if (bound < out.bound) {
          out.bound = bound;
          out.setting = {step.eta, gamma, tau};
          out.rounds = rounds;
        }
      }
    }
  return out;
}

// The scale that step sizes are tried at. Of the hinge, that of its smooth form.
Result<double> data_beta(const Federation<double>& federation, Loss loss, double lambda) {
  double largest = 0;
  for (const Shard& node : federation.nodes) {
    MFL_TRY(const double of_node, largest_gram_eigenvalue(federation.train, node));
    largest = std::max(largest, of_node);
  }
  return lambda + largest_curvature(loss) * largest;
}

// The same of a model that is not linear.
Result<double> largest_smoothness(const Experiment& experiment, const Federation<double>& federation) {
  double largest = 0;
  for (const Shard& node : federation.nodes) {
    MFL_TRY(const double of_node, node_smoothness(experiment, federation, node));
    largest = std::max(largest, of_node);
  }
  return largest;
}

// Why the theory says nothing about a problem; empty where it does.
std::string without_theory(const Experiment& experiment, const Schema& schema) {
  const auto& loss = experiment.model->loss;
  if (!loss) return "its bounds are for linear models";
  if (*loss == Loss::kHinge) return "the hinge is not smooth; squared-svm is its smooth form";
  if (experiment.config.model.weighs_classes())
    return "its samples count alike, and class_weight weighs them";
  if (schema.preprocessing.intercept)
    return "it regularises every parameter, and not the intercept; --intercept false leaves that out";
  return {};
}

template <class T>
Result<void> pilot_advice(const Experiment& experiment, const Problem<T>& problem,
                          const AdviseOptions& options, double beta, const RunHooks& hooks, Advice& advice) {
  const Federation<T>& federation = problem.federation;
  const Budget budget(options, federation.nodes.size() * federation.model->parameters() * sizeof(T));
  std::optional<double> least_loss;
  std::optional<PilotSetting> seed;
  if (advice.theory) {
    least_loss = advice.theory->least_loss;
    if (std::isfinite(advice.theory->bound)) seed = advice.theory->setting;
  }
  Trials<T> trials(federation, experiment, options, budget, least_loss, hooks);
  MFL_TRY(const PilotRun best, search(trials, beta, options.most_tau, seed));
  PilotAdvice& pilot = advice.pilot;
  pilot.setting = best.setting;
  pilot.rounds = budget.rounds(best.setting.gamma);
  pilot.stable_eta = 2 * (1 + best.setting.gamma) / beta;
  pilot.expected_loss = trials.expected_loss(best);
  pilot.extrapolated = least_loss && best.rounds < pilot.rounds;
  pilot.trial_rounds = best.rounds;
  pilot.settings = trials.tried();
  pilot.losses = best.losses;
  return {};
}

Result<void> check(const Experiment& experiment, const AdviseOptions& options) {
  if (experiment.external())
    return fail(ErrorCode::kBadConfig,
                "mfl theory advise tries settings on data that mfl reads, and a trainer has its own",
                "try step sizes with mfl run --trainer");
  if (experiment.centralised())
    return fail(ErrorCode::kBadConfig,
                fmt::format("--algorithm {}: has no rounds to advise on", experiment.config.algorithm.name),
                "use fl or mfl; which of them is part of the advice");
  if (!experiment.model->has_step_bound())
    return fail(
        ErrorCode::kBadConfig,
        fmt::format(
            "mfl theory advise tries step sizes around the smoothness of a model, and none is known of {}",
            experiment.model->name),
        "use " + model_names([](const ModelEntry& entry) { return entry.has_step_bound(); }));
  if (options.rounds.has_value() == options.bytes.has_value())
    return fail(ErrorCode::kBadConfig, "a budget is needed: rounds or bytes, one of the two",
                "give --budget-rounds N or --budget-bytes N");
  return {};
}

template <class T>
Result<void> advise_as(const Experiment& experiment, const Problem<double>& measured,
                       const AdviseOptions& options, const RunHooks& hooks, Advice& advice) {
  const Federation<double>& federation = measured.federation;
  const auto& loss = experiment.model->loss;
  const Budget budget(options, federation.nodes.size() * federation.model->parameters() * sizeof(T));
  if (budget.rounds(0.5) == 0 || options.most_tau == 0 || options.pilot_rounds == 0)
    return fail(ErrorCode::kBadConfig, "the budget does not cover one round",
                fmt::format("a round of mfl takes {} bytes",
                            4 * federation.nodes.size() * federation.model->parameters() * sizeof(T)));
  MFL_TRY(const double beta, loss ? data_beta(federation, *loss, experiment.lambda)
                                  : largest_smoothness(experiment, federation));
  if (!(beta > 0))
    return fail(ErrorCode::kBadData, "every feature of the data is zero", "check it with mfl data info");
  advice.without_theory = without_theory(experiment, measured.schema);
  if (advice.without_theory.empty()) {
    MFL_TRY(advice.theory, theory_advice(measured, experiment, budget, options.most_tau));
  }
  if constexpr (sizeof(T) == sizeof(double)) {
    return pilot_advice<T>(experiment, measured, options, beta, hooks, advice);
  } else {
    MFL_TRY(const Problem<T> problem, load_problem<T>(experiment));
    return pilot_advice<T>(experiment, problem, options, beta, hooks, advice);
  }
}

}  // namespace

Result<Advice> advise_experiment(const Config& config, const AdviseOptions& options, const RunHooks& hooks) {
  MFL_CHECK(require_all_nodes(config, "mfl theory advise"));
  const Experiment experiment(config);
  MFL_CHECK(check(experiment, options));
  Advice out;
  out.config = config;
  MFL_TRY(const Problem<double> measured, load_problem<double>(experiment));
  out.load_seconds = measured.load_seconds;
  const auto start = std::chrono::steady_clock::now();
  MFL_CHECK(config.run.precision == Precision::kF32
                ? advise_as<float>(experiment, measured, options, hooks, out)
                : advise_as<double>(experiment, measured, options, hooks, out));
  const PilotSetting& chosen = out.pilot.setting;
  out.config.algorithm = {
      .name = chosen.gamma == 0 ? "fl" : "mfl", .eta = chosen.eta, .gamma = chosen.gamma, .tau = chosen.tau};
  out.config.run.rounds = 0;
  out.config.run.steps = out.pilot.rounds * chosen.tau;
  out.wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return out;
}

}  // namespace mfl
