// The calls of wire.proto, and gRPC's health check, as handlers of an RpcServer onto a session.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "mfl/network/session_thread.h"
#include "mfl/network/transport/rpc_server.h"

namespace mfl {

// Used on the thread of the RpcServer, except where it says otherwise.
class Service {
 public:
  // Updates that arrive hold no more than `upload_memory` bytes at a time; further ones wait. One always may. The session and its
  // thread outlive the service.
  // `max_samples` gives the most samples that a node may claim, or nothing.
  using SampleLimit = std::function<std::optional<std::uint64_t>(const std::string& node)>;
  Service(Session& session, SessionThread& thread, bool has_tls, std::uint64_t upload_memory,
          SampleLimit max_samples)
      : session_(session),
        thread_(thread),
        has_tls_(has_tls),
        upload_memory_(upload_memory),
        max_samples_(std::move(max_samples)) {}

  // Before the first call; from any thread.
  void serve_on(RpcServer& server) { server_ = &server; }

  std::unique_ptr<CallHandler> open(ServerCall& call, std::string_view path);

 private:
  class Unary;
  class Attend;
  class Submit;
  class HealthWatch;
  class Presence;
  class Arriving;

  // The node that calls; the call has ended where this is nothing.
  std::optional<Peer> identify(ServerCall& call, std::string_view method);
  void refuse(ServerCall& call, const std::string& node, std::string_view method, Reason reason,
              StatusCode code, const std::string& text);
  CallStatus greet(const Peer& peer, std::string_view request, std::string& response);
  CallStatus watch(const Peer& peer, std::string_view request, std::string& response);

  // True when the update may arrive now; otherwise its turn comes.
  bool reserve(CallId call, std::uint64_t bytes);
  void release(CallId call);

  Session& session_;
  SessionThread& thread_;
  RpcServer* server_ = nullptr;
  bool has_tls_;
  std::uint64_t upload_memory_, reserved_ = 0;
  SampleLimit max_samples_;
  std::map<CallId, std::uint64_t> reservations_;
  std::deque<std::pair<CallId, std::uint64_t>> waiting_;
};

}  // namespace mfl
