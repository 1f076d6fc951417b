// The data of an experiment, loaded, split among the nodes and ready to train on.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "mfl/base/result.h"
#include "mfl/engine/engine.h"
#include "mfl/experiment/config.h"
#include "mfl/experiment/virtual_time.h"

namespace mfl {

template <class T>
struct Problem {
  Federation<T> federation;
  bool has_accuracy = false;  // the targets are two classes
  std::string
      data_digest;  // of training and test data and of who holds what; where ranks share it, on the first
  std::string train_digest;  // of the training data alone
  double load_seconds = 0;
};

// Of the function that a configuration minimises on that training data: equal for runs that can be compared.
std::string function_digest(const Config& config, const std::string& train_digest);

// The problem outlives it.
template <class T>
Crowd crowd_of(const Config& config, const Problem<T>& problem) {
  return make_crowd(config, problem.federation.node_count(),
                    [&](std::size_t node) { return problem.federation.samples_of(node); });
}

// kBadConfig unless all nodes hold stored data and take part in every round, as `what` ("mfl theory") needs it.
Result<void> require_all_nodes(const Config& config, std::string_view what);

// A centralised algorithm gets one node that holds everything, whatever [federation] says.
template <class T>
Result<Problem<T>> load_problem(const Config& config);

}  // namespace mfl
