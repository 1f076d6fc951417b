// The messages of gRPC and protobuf themselves, which they would otherwise write to standard error.
#pragma once

#include <cstdint>

#include "mfl/network/log.h"

namespace mfl {

// Keeps gRPC and protobuf from writing to standard error, for the rest of the process.
void quiet_transport();

// While it exists, errors of the transport, such as a failed handshake, go to `log` as event "transport", at most one of a kind per
// second; everything else is dropped. Of several, the newest is given the lines. `log` is not called after the destructor has
// returned. Safe to make and destroy on any thread; `log` itself must not do either.
class TransportLog {
 public:
  explicit TransportLog(Log log);
  TransportLog(const TransportLog&) = delete;
  TransportLog& operator=(const TransportLog&) = delete;
  ~TransportLog();

 private:
  std::uint64_t id_;
};

}  // namespace mfl
