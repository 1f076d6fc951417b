// Nodes whose data and model are with programs outside of mfl. An engine hands them vectors and gets vectors back; everything else,
// from starting values to aggregation, is as for other nodes. mfl/external implements it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <span>
#include <string>
#include <utility>

#include "mfl/aggregate/metric_means.h"
#include "mfl/algorithm/algorithm.h"
#include "mfl/base/result.h"
#include "mfl/base/vectors.h"

namespace mfl {

// What ExternalNodes throw when they give up on a program.
class ExternalFailure : public std::exception {
 public:
  explicit ExternalFailure(Error error) : error_(std::move(error)) {}
  const Error& error() const { return error_; }
  const char* what() const noexcept override { return error_.message.c_str(); }

 private:
  Error error_;
};

// What work() returns, or the error of an ExternalFailure that it threw.
template <class Work>
auto catch_external(const Work& work) -> decltype(work()) {
  try {
    return work();
  } catch (const ExternalFailure& failure) {
    return tl::unexpected<Error>(failure.error());
  }
}

// A node's training loss, and what else its program measured, at the w that it was given.
struct ExternalReport {
  double loss = 0;
  Metrics metrics = {};
};

// The work of a node in a round.
template <class T>
struct ExternalWork {
  std::size_t node = 0;
  std::uint64_t round = 1;
  std::uint64_t steps = 0;   // local steps
  std::uint64_t epochs = 0;  // that they are, where a round is counted in them; else 0
  NodeSteps how;
  Vector<T>& w;                     // read and written
  Vector<T>* d = nullptr;           // the same, with momentum
  std::function<void()> poll = {};  // called while waiting; may throw
};

// Calls with different workers may be concurrent.
template <class T>
class ExternalNodes {
 public:
  virtual ~ExternalNodes() = default;
  virtual unsigned workers() const = 0;
  // Throw ExternalFailure.
  virtual ExternalReport train(unsigned worker, const ExternalWork<T>& work) = 0;
  // The loss of w over all samples of the node. `poll` as of ExternalWork.
  virtual ExternalReport evaluate(unsigned worker, std::size_t node, const Vector<T>& w,
                                  const std::function<void()>& poll) = 0;
  // The w that a run starts from.
  virtual void initialise(std::span<T> w, std::uint64_t seed, const std::function<void()>& poll) = 0;
};

}  // namespace mfl
