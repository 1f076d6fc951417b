#include "mfl/theory/divergence.h"

#include <gtest/gtest.h>

#include "tests/theory/problems.h"

namespace mfl {
namespace {

using test::kSmoothModels;

// At w(0) = 0 it is delta of a first interval of one step.
TEST(Divergence, EqualsThatOfThePathAtItsStart) {
  for (const auto& smooth : kSmoothModels) {
    const Dataset data = make_synthetic(203, 12, 1).value();
    const auto problem = test::make_problem(smooth, data, label_sorted(data.labels, 4).value());
    PathOptions options;
    options.eta = 0.01;
    const Path path = measure_path(problem.objective, problem.samples, problem.nodes,
                                   test::exact_average(problem.nodes), options);
    const auto model = linear_model<double>(problem.objective.loss, problem.samples.columns());
    const Vector<double> w(model->parameters());
    const GradientDivergence found =
        measure_divergence(*model, problem.samples, problem.nodes, problem.objective.lambda, w);
    ASSERT_EQ(found.nodes.size(), 4U);
    for (std::size_t i = 0; i < 4; ++i)
      EXPECT_DOUBLE_EQ(found.nodes[i], path.intervals[0].node_delta[i]) << smooth.name;
    EXPECT_DOUBLE_EQ(found.mean, path.intervals[0].delta);
    EXPECT_DOUBLE_EQ(found.gradient, path.virtual_steps[0].gradient);
    EXPECT_GT(found.mean, 0);
  }
}

TEST(Divergence, IsZeroForOneNode) {
  const Dataset data = make_synthetic(50, 12, 1).value();
  const auto problem = test::make_problem(kSmoothModels[0], data, contiguous(50, 1).value());
  const auto model = linear_model<double>(problem.objective.loss, problem.samples.columns());
  const auto found =
      measure_divergence(*model, problem.samples, problem.nodes, 0.3, Vector<double>(model->parameters()));
  EXPECT_EQ(found.mean, 0);
  EXPECT_GT(found.gradient, 0);
}

}  // namespace
}  // namespace mfl
