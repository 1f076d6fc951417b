// Processes that share one run. All of them do the same steps in the same order, each with its part of the nodes; where
// they need each other they call the same function of Ranks, all of them, and it returns when it has heard from all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mfl/aggregate/exact_mean.h"
#include "mfl/base/result.h"

namespace mfl {

// Not thread-safe: one thread of a process calls it. A process that is gone ends all the others.
class Ranks {
 public:
  virtual ~Ranks() = default;

  virtual unsigned rank() const = 0;  // of this process, from 0
  virtual unsigned size() const = 0;
  bool first() const { return rank() == 0; }
  // How many of the processes, this one among them, are on this machine.
  virtual unsigned on_this_machine() const = 0;

  // What everybody says, in the order of ranks, on every rank. Less than 2 GiB in all.
  virtual std::vector<std::string> gather(std::string_view mine) = 0;
  // The same on the first rank, for much to say; nothing on the others.
  virtual std::vector<std::string> gather_at_first(std::string_view mine) = 0;
  // The first rank's bytes, on every rank.
  virtual void share(std::string& bytes) = 0;

  // The mean of what all ranks have added to their sums: the bits that one sum of everything gives. `total_weight` is
  // that of all sums together, > 0. out.size() == sum.size(), the same on every rank.
  virtual void mean(const ExactMean& sum, std::uint64_t total_weight, std::span<float> out) = 0;
  virtual void mean(const ExactMean& sum, std::uint64_t total_weight, std::span<double> out) = 0;

  // Ends all processes at once, the job with this exit code. For what the others do not know of.
  [[noreturn]] virtual void abort(int code) = 0;

  // The failure of the lowest rank that has one, with its number in front unless all fail in the same way; nothing where
  // nobody fails. Afterwards failed_together() says that nobody needs to be told.
  Result<void> agree(const Result<void>& mine);
  bool failed_together() const { return failed_together_; }

  // Runs `work` on the first rank; its answer, or its failure, on every rank.
  Result<std::string> from_first(const std::function<Result<std::string>()>& work);

 private:
  bool failed_together_ = false;
};

// This process by itself.
Ranks& alone();

}  // namespace mfl
