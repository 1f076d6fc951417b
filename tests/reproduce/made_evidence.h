// Evidence as the paper describes it, made by formula: every claim holds until a test breaks one.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>

#include "mfl/reproduce/evidence.h"

namespace mfl::test {

inline constexpr double kGammas[] = {0, 0.3, 0.5, 0.7, 0.9, 0.95, 0.97, 0.99};
inline constexpr std::uint64_t kTaus[] = {1, 4, 10, 100, 1000};
inline constexpr std::uint64_t kLongTaus[] = {10, 100, 1000, 3000};

// Loss 0.5 at the start, 0.25 at the end of time; `rate` a step.
inline RunEvidence made_run(const std::string& model, const std::string& algorithm, double gamma,
                            std::uint64_t tau, std::uint64_t seed, double rate, double floor = 0) {
  RunEvidence run;
  run.model = model;
  run.algorithm = algorithm;
  run.gamma = gamma;
  run.tau = tau;
  run.steps = 1000;
  run.seed = seed;
  run.start_loss = 0.5;
  const std::uint64_t every = tau == 0 ? 1 : tau, vectors = algorithm == "mfl" ? 2 : 1;
  for (std::uint64_t step = 0; step <= run.steps; step += every) {
    RoundEvidence round;
    round.step = step;
    round.round = step / every;
    round.loss = 0.25 + (step == 0 ? 0 : floor) + 0.25 * std::exp(-rate * static_cast<double>(step));
    round.bytes_up = round.bytes_down = tau == 0 ? 0 : 100 * vectors * round.round;
    run.rounds.push_back(round);
    if (step % 20 == 0)
      run.accuracy.push_back({step, 0.85 - 0.35 * std::exp(-rate * static_cast<double>(step))});
  }
  run.final_loss = run.rounds.back().loss;
  run.final_accuracy = run.accuracy.back().accuracy;
  run.digest = std::to_string(rate + floor);
  return run;
}

// Falls to gamma 0.95 and rises markedly after it.
inline double floor_of(double gamma) { return gamma <= 0.95 ? 0 : gamma < 0.98 ? 0.003 : 0.004; }
inline double rate_of(double gamma) { return 0.004 * (1 + 2.02 * gamma); }

inline Evidence made_evidence(std::uint64_t seeds = 2) {
  Evidence evidence{0.5, 4, 1000, 60000, {}, {}};
  const auto add = [&](const RunEvidence& run) { evidence.runs.push_back(run); };
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    for (const char* model : {"svm", "squared-svm", "linear", "logistic"}) {
      add(made_run(model, "gd", 0, 0, seed, rate_of(0) * 1.0001));
      add(made_run(model, "fl", 0, 4, seed, rate_of(0)));
      add(made_run(model, "mgd", 0.5, 0, seed, rate_of(0.5) * 1.0001));
      add(made_run(model, "mfl", 0.5, 4, seed, rate_of(0.5)));
    }
    for (const double gamma : kGammas)
      if (gamma != 0.5) add(made_run("svm", "mfl", gamma, 4, seed, rate_of(gamma), floor_of(gamma)));
    for (const std::uint64_t tau : kTaus)
      if (tau != 4) {
        add(made_run("svm", "fl", 0, tau, seed, rate_of(0)));
        add(made_run("svm", "mfl", 0.5, tau, seed, rate_of(0.5)));
      }
    for (const std::uint64_t tau : kLongTaus) {
      RunEvidence run = made_run("svm", "mfl", 0.5, tau, seed, rate_of(0.5));
      run.steps = 60000;
      run.final_loss = 0.25 + (tau > 100 ? 3e-6 * static_cast<double>(tau) : 0);
      run.rounds.clear();
      run.accuracy.clear();
      add(run);
    }
  }
  return evidence;
}

}  // namespace mfl::test
