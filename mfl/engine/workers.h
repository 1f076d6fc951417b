// Where work runs on one machine.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "mfl/base/for_each.h"

namespace mfl {

class Workers {
 public:
  virtual ~Workers() = default;

  virtual unsigned count() const = 0;

  // Calls work(worker, i) once for every i < n and returns when all are done. worker < count(), and no two calls
  // with the same worker overlap. Not to be called from inside work.
  //
  // An exception thrown by work ends the call: no further i is started, and the first exception is rethrown on the calling
  // thread once no thread is inside work any more. The workers can be used again.
  virtual void for_each(std::size_t n, const std::function<void(unsigned worker, std::size_t i)>& work) = 0;
};

// Spreads work over the workers, which outlive it.
ForEach for_each_of(Workers& workers);

// One after the other on the calling thread: the reference implementation.
std::unique_ptr<Workers> serial_workers();

// More threads than any machine has cores.
inline constexpr unsigned kMaxThreads = 4096;

// The calling thread and `threads` - 1 others; 0 means one per core, and more than kMaxThreads means kMaxThreads. Where the
// system refuses to create that many (ulimit -u, a container's pids limit), there are as many as it allows: count() says
// how many, and nothing that is computed depends on it.
std::unique_ptr<Workers> thread_workers(unsigned threads);

// The cores for each of `processes` on this machine: an equal share, but no more than this process is bound to; at least 1.
unsigned cores_each(unsigned processes);

}  // namespace mfl
