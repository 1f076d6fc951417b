// The algorithm of examples/extensions: it has vectors that nodes keep, that they only read, and that they send for the server's step.
#pragma once

#include <cstdint>

#include "examples/extensions/extensions.h"
#include "mfl/algorithm/algorithms.h"

namespace mfl::test {

inline Algorithm scaffold(double eta, std::uint64_t tau) {
  static const bool added = (add_scaffold(), true);
  (void)added;
  return make_algorithm("my-scaffold", {.eta = eta}, tau).value();
}

}  // namespace mfl::test
