// Proposition 1 and the descent inequality over models, splits, gamma and tau, and that the checks can fail.
#include "mfl/theory/path.h"

#include <gtest/gtest.h>

#include <cmath>

#include "mfl/theory/diagnosis.h"
#include "problems.h"

namespace mfl {
namespace {

using test::exact_average;
using test::kSmoothModels;
using test::make_problem;
using test::SmoothModel;
using test::TheoryProblem;

constexpr std::size_t kRows = 240, kColumns = 20;

std::vector<std::pair<const char*, Partition>> splits(const Dataset& data) {
  return {{"iid", iid(data.rows, 4, 1).value()},
          {"contiguous", contiguous(data.rows, 3).value()},
          {"label-sorted", label_sorted(data.labels, 4).value()},
          {"one node", contiguous(data.rows, 1).value()}};
}

Diagnosis diagnose(const TheoryProblem& problem, double eta_beta, double gamma, std::uint64_t tau,
                   std::uint64_t steps) {
  Diagnosis out;
  out.model = "model";
  out.tau = tau;
  out.steps = steps;
  out.nodes = problem.nodes.size();
  out.curvature = *measure_curvature(problem.objective, problem.samples, problem.nodes);
  out.optimum = find_optimum(problem.objective, problem.samples);
  const double eta = eta_beta / out.curvature->beta;
  const auto path = [&](double momentum) {
    PathOptions options{eta, momentum, tau, steps, &out.optimum->w, nullptr, {}};
    return measure_path(problem.objective, problem.samples, problem.nodes, exact_average(problem.nodes),
                        options);
  };
  out.run.step = {eta, 0, gamma};
  out.run.path = path(gamma);
  if (gamma > 0) {
    out.fl.emplace();
    out.fl->step = {eta, 0, 0};
    out.fl->path = path(0);
  }
  judge(out);
  return out;
}

Judgement verdict(const Diagnosis& diagnosis, std::string_view id) {
  for (const Condition& condition : diagnosis.conditions)
    if (condition.id == id) return condition.verdict;
  ADD_FAILURE() << "no condition " << id;
  return Judgement::kNotApplicable;
}

TEST(Path, NoGapIsAboveItsBoundAndEveryStepDescends) {
  const Dataset data = make_synthetic(kRows, kColumns, 5).value();
  for (const SmoothModel& model : kSmoothModels)
    for (const auto& [split, partition] : splits(data)) {
      const TheoryProblem problem = make_problem(model, data, partition);
      for (const double gamma : {0.0, 0.5, 0.9})
        for (const std::uint64_t tau : {1, 2, 5, 20})
          for (const double eta_beta : {0.05, 0.8}) {
            SCOPED_TRACE(std::string(model.name) + ' ' + split + " gamma " + std::to_string(gamma) + " tau " +
                         std::to_string(tau) + " eta beta " + std::to_string(eta_beta));
            const Diagnosis d = diagnose(problem, eta_beta, gamma, tau, 47);
            ASSERT_TRUE(d.run.drift);
            EXPECT_EQ(d.run.drift->violations(), 0U);
            EXPECT_EQ(d.run.drift->w.compared, 47U);
            EXPECT_EQ(d.run.drift->node_w.compared, 47U * problem.nodes.size());
            EXPECT_LE(d.run.drift->w.largest_ratio, 1);
            EXPECT_EQ(d.run.constants->ascents, 0U);
            EXPECT_EQ(d.run.constants->descents, 47U);
            EXPECT_LE(d.run.convergence->gap, d.run.convergence->a_posteriori.value_or(HUGE_VAL));
            EXPECT_LE(d.run.convergence->gap, d.run.convergence->bound.value_or(HUGE_VAL));
          }
    }
}

TEST(Path, DeltasAThousandTimesTooSmallAreDetected) {
  const Dataset data = make_synthetic(kRows, kColumns, 5).value();
  for (const SmoothModel& model : kSmoothModels) {
    const TheoryProblem problem = make_problem(model, data, label_sorted(data.labels, 4).value());
    Diagnosis d = diagnose(problem, 0.1, 0.5, 10, 40);
    EXPECT_EQ(d.run.drift->violations(), 0U);
    for (Interval& interval : d.run.path.intervals) {
      interval.delta /= 1000;
      for (double& delta : interval.node_delta) delta /= 1000;
    }
    const DriftReport wrong = compare_drift(d.run.path, d.run.step);
    EXPECT_GT(wrong.w.violations, 0U) << model.name;
    EXPECT_GT(wrong.d.violations, 0U) << model.name;
    EXPECT_GT(wrong.node_w.violations, 0U) << model.name;
    EXPECT_GT(wrong.node_d.violations, 0U) << model.name;
  }
}

TEST(Path, ASmallerBetaMakesTheDescentInequalityFail) {
  const Dataset data = make_synthetic(kRows, kColumns, 5).value();
  const TheoryProblem problem = make_problem(kSmoothModels[1], data, iid(kRows, 4, 1).value());
  const Diagnosis d = diagnose(problem, 0.5, 0.5, 4, 40);
  EXPECT_EQ(d.run.constants->ascents, 0U);
  StepParameters wrong = d.run.step;
  wrong.beta /= 10;
  EXPECT_GT(path_constants(d.run.path, wrong).ascents, 0U);
}

TEST(Path, TheFirstStepHasItsOwnAlpha) {
  const Dataset data = make_synthetic(kRows, kColumns, 5).value();
  const TheoryProblem problem = make_problem(kSmoothModels[0], data, iid(kRows, 4, 1).value());
  const Diagnosis d = diagnose(problem, 0.5, 0.9, 4, 1);
  EXPECT_EQ(d.run.path.virtual_steps[0].momentum, 0);
  EXPECT_DOUBLE_EQ(d.run.constants->least_step_alpha, d.run.step.eta * (1 - 0.25));
  EXPECT_EQ(d.run.constants->ascents, 0U);
}

TEST(Path, OneNodeAndEveryStepAveragedHaveNoGap) {
  const Dataset data = make_synthetic(kRows, kColumns, 5).value();
  const TheoryProblem one = make_problem(kSmoothModels[3], data, contiguous(kRows, 1).value());
  const Diagnosis alone = diagnose(one, 0.5, 0.5, 7, 30);
  for (const GapStep& gaps : alone.run.path.gaps) EXPECT_EQ(gaps.w, 0);
  EXPECT_EQ(alone.run.constants->delta, 0);
  const TheoryProblem four = make_problem(kSmoothModels[3], data, iid(kRows, 4, 1).value());
  const Diagnosis often = diagnose(four, 0.5, 0.5, 1, 30);
  for (const GapStep& gaps : often.run.path.gaps) EXPECT_LT(gaps.w, 1e-12 * gaps.w_size);
  EXPECT_EQ(often.run.constants->h_tau, 0);
}

TEST(Path, IntervalsCoverTheStepsAndTheBestModelIsOneOfTheirEnds) {
  const Dataset data = make_synthetic(kRows, kColumns, 5).value();
  const TheoryProblem problem = make_problem(kSmoothModels[1], data, iid(kRows, 4, 1).value());
  const Diagnosis d = diagnose(problem, 0.3, 0.5, 4, 30);
  const Path& path = d.run.path;
  ASSERT_EQ(path.intervals.size(), 8U);
  EXPECT_EQ(path.intervals.back().first, 28U);
  EXPECT_EQ(path.intervals.back().steps, 2U);
  EXPECT_EQ(path.gaps.size(), 30U);
  EXPECT_EQ(path.virtual_steps.size(), 30U);
  double best = path.intervals[0].loss;
  for (const Interval& interval : path.intervals) best = std::min(best, interval.loss);
  EXPECT_EQ(path.best_loss, best);
  EXPECT_LT(path.best_loss, path.start_loss);
  EXPECT_GT(d.run.convergence->gap, 0);
}

TEST(Path, DivergenceEndsThePathWhereNumbersWereFinite) {
  const Dataset data = make_synthetic(kRows, kColumns, 5).value();
  const TheoryProblem problem = make_problem(kSmoothModels[1], data, iid(kRows, 4, 1).value());
  const Diagnosis d = diagnose(problem, 1e6, 0.5, 4, 400);
  ASSERT_TRUE(d.run.path.diverged_after);
  EXPECT_LT(*d.run.path.diverged_after, 400U);
  EXPECT_EQ(d.run.path.gaps.size(), *d.run.path.diverged_after);
  EXPECT_EQ(d.run.path.virtual_steps.size(), *d.run.path.diverged_after);
  for (const GapStep& gaps : d.run.path.gaps) EXPECT_TRUE(std::isfinite(gaps.w));
}

TEST(Judge, ConditionsFailWhereTheyShould) {
  const Dataset data = make_synthetic(kRows, kColumns, 5).value();
  const TheoryProblem svm = make_problem(kSmoothModels[0], data, iid(kRows, 4, 1).value());
  const Diagnosis calm = diagnose(svm, 0.07, 0.5, 4, 100);
  for (const char* id : {"convex", "smooth", "strongly_convex", "optimum", "stable", "eta_beta", "gamma",
                         "descent", "step_alpha", "drift"})
    EXPECT_EQ(verdict(calm, id), Judgement::kPass) << id;
  const Diagnosis wild = diagnose(svm, 0.5, 0.97, 4, 100);
  EXPECT_EQ(verdict(wild, "alpha"), Judgement::kFail);
  EXPECT_FALSE(wild.run.convergence->bound) << "shown only where it applies";
  EXPECT_EQ(verdict(diagnose(svm, 1.2, 0.5, 4, 20), "eta_beta"), Judgement::kFail);
  const Diagnosis plain = diagnose(svm, 0.2, 0, 4, 50);
  EXPECT_EQ(verdict(plain, "angle"), Judgement::kNotApplicable);
  EXPECT_FALSE(plain.fl);
  const TheoryProblem few =
      make_problem(kSmoothModels[1], make_synthetic(15, kColumns, 5).value(), iid(15, 2, 1).value());
  EXPECT_EQ(verdict(diagnose(few, 0.2, 0.5, 4, 20), "strongly_convex"), Judgement::kFail);
}

TEST(Judge, TheSpeedUpIsMeasuredAgainstPlainFl) {
  const Dataset data = make_synthetic(kRows, kColumns, 5).value();
  const TheoryProblem problem = make_problem(kSmoothModels[0], data, iid(kRows, 4, 1).value());
  const Diagnosis d = diagnose(problem, 0.05, 0.5, 4, 100);
  ASSERT_TRUE(d.acceleration && d.acceleration->speed_up);
  EXPECT_GT(*d.acceleration->speed_up, 1.5);
  EXPECT_EQ(d.acceleration->fl_step, 100U);
}

}  // namespace
}  // namespace mfl
