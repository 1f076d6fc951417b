// How a call ends, with the numbers of gRPC.
#pragma once

#include <string>

namespace mfl {

enum class StatusCode : int {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kUnauthenticated = 16,
};

struct CallStatus {
  StatusCode code = StatusCode::kOk;
  std::string text = {};  // for people; empty for kOk

  bool ok() const { return code == StatusCode::kOk; }
  bool operator==(const CallStatus&) const = default;
};

}  // namespace mfl
