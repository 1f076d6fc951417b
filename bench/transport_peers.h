// What mfl_transport compares a federation with: the same bytes over the same number of connections, and nothing else.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "mfl/base/result.h"
#include "mfl/network/wire.h"

namespace mfl {

struct TransportLoad {
  std::size_t nodes = 16;
  std::size_t bytes = std::size_t{40} << 20U;  // of a State
  std::size_t rounds = 5;

  std::size_t columns() const { return bytes / 2 / sizeof(float); }  // w and d
  std::size_t chunks() const { return (bytes + wire::kChunk - 1) / wire::kChunk; }
};

// Ends the program.
[[noreturn]] void give_up(const std::string& why);

template <class T>
T must(Result<T> result) {
  if (!result) give_up(result.error().text());
  return *std::move(result);
}

inline double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Seconds of every round after a first one, which is not counted: State down to every node, then as many bytes up from each.
// Over an RpcServer and RpcClients in plaintext, as the federation's, with messages of the federation's size that nobody looks into.
std::vector<double> run_bare(const TransportLoad& load);
// Over plain sockets, with one thread per connection on both sides and writes of the same size.
std::vector<double> run_tcp(const TransportLoad& load);

}  // namespace mfl
