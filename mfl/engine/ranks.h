// Processes that share one run. All of them take the same steps in the same order, each with its part of the nodes. The
// functions of Ranks are collective: all processes call the same one, and it returns when all have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mfl/aggregate/accumulator.h"
#include "mfl/base/result.h"

namespace mfl {

// Something that must be the same on every rank, under a name that a user knows.
struct RankFact {
  std::string name;
  std::string value;
};

// Not thread-safe: only one thread of a process calls it. If one process dies, all others end.
class Ranks {
 public:
  virtual ~Ranks() = default;

  virtual unsigned rank() const = 0;  // of this process, from 0
  virtual unsigned size() const = 0;
  bool first() const { return rank() == 0; }
  // The number of processes on this machine, including this one.
  virtual unsigned on_this_machine() const = 0;

  // The bytes of every rank, in the order of ranks, on every rank.
  virtual std::vector<std::string> gather(std::string_view mine) = 0;
  // The same on the first rank only, for large amounts; empty on the others.
  virtual std::vector<std::string> gather_at_first(std::string_view mine) = 0;
  // The first rank's bytes, on every rank.
  virtual void share(std::string& bytes) = 0;

  // The means over the sums of all ranks, with the bits of a single sum of everything, on every rank. The sums
  // of all ranks have the same slices, and are prepared with `out`; they are used up.
  virtual void finish(SlicedSums<float>& sums, std::vector<Vector<float>>& out) = 0;
  virtual void finish(SlicedSums<double>& sums, std::vector<Vector<double>>& out) = 0;

  // Ends all processes at once, and the job with this exit code. For failures that the other ranks do not know of.
  [[noreturn]] virtual void abort(int code) = 0;

  // The failure of the lowest rank that has one, prefixed with its number unless all fail in the same way; success if no
  // rank fails. After a failure of several ranks, failed_together() is true: no rank needs to be told.
  Result<void> agree(const Result<void>& mine);
  bool failed_together() const { return failed_together_; }
  // The same for a value, which is returned if no rank fails.
  template <class V>
  Result<V> agreed(Result<V> mine) {
    MFL_CHECK(agree(mine ? Result<void>{} : tl::unexpected<Error>(mine.error())));
    return mine;
  }

  // The largest of all ranks' numbers, or the failure of a rank that has none.
  Result<double> largest(Result<double> mine);

  // Success if the facts of all ranks are those of the first; otherwise a failure with this code that names the lowest other rank and
  // its first fact that differs. Few bytes travel unless one does.
  Result<void> require_same(std::span<const RankFact> mine, ErrorCode code, std::string_view hint);

  // Runs `work` on the first rank only; a failure is one of every rank.
  Result<void> on_first(const std::function<Result<void>()>& work);
  // The same with a result, which every rank gets.
  Result<std::string> from_first(const std::function<Result<std::string>()>& work);

 private:
  bool failed_together_ = false;
};

// This process alone: a group of one.
Ranks& alone();

}  // namespace mfl
