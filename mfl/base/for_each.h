// How work that falls into independent parts is run.
#pragma once

#include <cstddef>
#include <functional>

namespace mfl {

// Runs work(i) once for every i < n, in any order or concurrently, and returns when all are done.
using ForEach = std::function<void(std::size_t n, const std::function<void(std::size_t)>& work)>;

// One after the other on the calling thread.
inline void for_each_in_order(std::size_t n, const std::function<void(std::size_t)>& work) {
  for (std::size_t i = 0; i < n; ++i) work(i);
}

}  // namespace mfl
