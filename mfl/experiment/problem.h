// The data of an experiment, loaded, split among the nodes and ready to train on.
#pragma once

#include <cstdint>
#include <string>

#include "mfl/base/result.h"
#include "mfl/engine/engine.h"
#include "mfl/experiment/config.h"

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

// A centralised algorithm gets one node that holds everything, whatever [federation] says.
template <class T>
Result<Problem<T>> load_problem(const Config& config);

}  // namespace mfl
