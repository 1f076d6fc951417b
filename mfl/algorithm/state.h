// Everything that survives a round. Checkpoints, resumed runs and the wire carry this and nothing else.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "mfl/base/vectors.h"

namespace mfl {

template <class T>
struct NamedVector {
  std::string name;
  Vector<T> values;
};

// The best aggregated model so far, w^f = argmin over rounds k >= 1 of F(w(k tau)).
template <class T>
struct Best {
  std::uint64_t step = 0;  // 0: none yet
  double train_loss = std::numeric_limits<double>::infinity();
  Vector<T> w;
};

template <class T>
struct State {
  std::uint64_t round = 0;              // completed rounds; the random draws of a round are keyed by it
  std::uint64_t step = 0;               // completed local steps, t
  std::vector<NamedVector<T>> vectors;  // "w" first, then the algorithm's others
  Best<T> best;

  const Vector<T>& w() const { return vectors.front().values; }
};

// SHA-256 (hex) of w as little-endian numbers: the digest of a run.
template <class T>
std::string weights_digest(const State<T>& state);

// SHA-256 (hex) of round, step and all vectors: the digest of a round.
template <class T>
std::string state_digest(const State<T>& state);

}  // namespace mfl
