// Where work runs on one machine.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace mfl {

class Workers {
 public:
  virtual ~Workers() = default;

  virtual unsigned count() const = 0;

  // Calls work(worker, i) once for every i < n and returns when all are done. worker < count(), and no two calls
  // with the same worker overlap. Not to be called from inside work.
  virtual void for_each(std::size_t n, const std::function<void(unsigned worker, std::size_t i)>& work) = 0;
};

// One after the other on the calling thread: the reference.
std::unique_ptr<Workers> serial_workers();

// The calling thread and others of its own; `threads` of 0 means one a core.
std::unique_ptr<Workers> thread_workers(unsigned threads);

// The cores for each of `processes` on this machine: an equal share, but no more than this process is bound to; at least 1.
unsigned cores_each(unsigned processes);

}  // namespace mfl
