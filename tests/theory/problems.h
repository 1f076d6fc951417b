// Small and large problems for the theory's tests.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "mfl/aggregate/exact_mean.h"
#include "mfl/data/source.h"
#include "mfl/data/synthetic.h"
#include "mfl/data/task.h"
#include "mfl/model/objective.h"
#include "mfl/partition/partition.h"
#include "mfl/theory/path.h"

namespace mfl::test {

struct SmoothModel {
  const char* name;
  Objective objective;
  TargetKind targets;
};

inline const SmoothModel kSmoothModels[] = {
    {"squared-svm", {Loss::kSquaredHinge, 0.3}, TargetKind::kSigned},
    {"linear", {Loss::kSquared, 0}, TargetKind::kReal},
    {"linear with ridge", {Loss::kSquared, 0.1}, TargetKind::kReal},
    {"logistic", {Loss::kLogistic, 0}, TargetKind::kUnit},
};

struct TheoryProblem {
  Objective objective;
  Samples<double> samples;
  std::vector<Shard> nodes;
};

inline TheoryProblem make_problem(const SmoothModel& model, const Dataset& data, const Partition& partition) {
  const Dataset ordered = take_rows(data, partition.order);
  const auto targets = make_targets(ordered, Task::kEvenOdd, model.targets).value();
  std::vector<Shard> nodes;
  for (std::size_t i = 0; i < partition.nodes(); ++i)
    nodes.push_back({partition.starts[i], partition.starts[i + 1] - partition.starts[i]});
  return {model.objective, Samples<double>(ordered, targets), nodes};
}

// The first images of MNIST, on four nodes one after the other.
inline TheoryProblem mnist_problem(const SmoothModel& model, std::size_t images) {
  DataOptions options;
  options.train = images;
  options.test = 0;
  auto loaded = load(options);
  if (!loaded) {
    ADD_FAILURE() << loaded.error().text() << " (" << loaded.error().first_hint() << ")";
    return make_problem(model, make_synthetic(40, 8, 1).value(), contiguous(40, 4).value());
  }
  return make_problem(model, loaded->train, contiguous(images, 4).value());
}

// As the engines average.
inline Average exact_average(const std::vector<Shard>& nodes) {
  return [nodes](std::span<const Vector<double>* const> vectors, Vector<double>& mean) {
    ExactMean sum(mean.size());
    for (std::size_t i = 0; i < vectors.size(); ++i)
      if (sum.add(std::span<const double>(*vectors[i]), nodes[i].count)) return false;
    sum.mean(std::span<double>(mean));
    return true;
  };
}

}  // namespace mfl::test
