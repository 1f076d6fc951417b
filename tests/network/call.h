// One call with one request, past FederationClient.
#pragma once

#include <string>
#include <utility>

#include "mfl/network/transport/rpc_client.h"

namespace mfl::test {

inline std::pair<CallStatus, std::string> call_once(RpcClient& rpc, const std::string& path,
                                                    const std::string& request) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  const StreamId stream = rpc.open(path, deadline);
  if (stream < 0) return {rpc.failure(), {}};
  rpc.send(stream, std::make_shared<const std::string>(request), deadline);
  rpc.end(stream);
  const auto response = rpc.read(stream, deadline);
  return {rpc.finish(stream, deadline), response.value_or("")};
}

}  // namespace mfl::test
