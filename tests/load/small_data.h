// Data whose rows can be told apart, and the rows of a problem as numbers.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <vector>

#include "mfl/load/problem.h"

namespace mfl::test {

// CSV with the columns "row" (its number), "mixed", "same" (always 5) and "label", which runs through `classes`.
inline std::string numbered_csv(std::size_t rows, const std::vector<std::string>& classes) {
  std::string text = "row,mixed,same,label\n";
  for (std::size_t row = 0; row < rows; ++row)
    text += fmt::format("{},{},5,{}\n", row, row * row * 7 % 23, classes[row % classes.size()]);
  return text;
}

// The features of every sample as they are trained on, one row after the other. For dense samples that are not
// bytes.
template <class T>
std::vector<T> features_of(const Samples<T>& samples) {
  return std::get<DenseRows<T>>(samples.data().features).values;
}

template <class T>
std::vector<T> targets_of(const Samples<T>& samples) {
  return {samples.targets(0), samples.targets(0) + samples.size()};
}

// Empty where every sample counts once.
template <class T>
std::vector<T> weights_of(const Samples<T>& samples) {
  const T* weights = samples.weights(0);
  return weights == nullptr ? std::vector<T>() : std::vector<T>(weights, weights + samples.size());
}

}  // namespace mfl::test
