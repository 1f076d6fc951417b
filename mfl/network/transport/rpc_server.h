// A gRPC server on one thread: sockets, TLS, HTTP/2 and the limits that keep one peer from disturbing the others. It knows neither
// messages nor federations: calls go to handlers.
//
//   const auto server = RpcServer::open({.listen = "127.0.0.1:0", .open = make_handler});
//   (*server)->serve();
//
// A peer is known by its certificate, which is judged when the handshake is complete, before a byte of HTTP/2 is read, and again
// whenever recheck() is called or it expires; a peer that is refused is told why (GOAWAY) and disconnected, all its calls with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "mfl/base/result.h"
#include "mfl/network/certs.h"
#include "mfl/network/transport/call_status.h"
#include "mfl/network/transport/framing.h"
#include "mfl/network/transport/http2.h"

namespace mfl {

struct RpcPeer {
  std::string name;    // of its certificate, in lower case; empty without TLS
  std::string serial;  // hex
  std::optional<std::int64_t> certificate_expires = {};  // Unix time in seconds
  bool is_this_server = false;  // it has the server's own certificate and key; its name is then kOwnName
};
inline constexpr const char* kOwnName = "server";  // that no node can have

using CallId = std::uint64_t;

// An open call. Used on the server's thread only, while RpcServer::find returns it.
class ServerCall {
 public:
  virtual ~ServerCall() = default;
  virtual CallId id() const = 0;
  virtual const RpcPeer& peer() const = 0;
  virtual std::string_view header(std::string_view name) const = 0;  // of the request; empty: absent
  // Queues a message.
  virtual void send(MessageBytes message) = 0;
  virtual std::size_t queued() const = 0;  // bytes of messages that the socket has not taken
  // Ends the call. A message that is partly sent is completed, later ones are dropped, unless `flush` is set.
  virtual void finish(const CallStatus& status, bool flush = false) = 0;
  // A paused call receives no more than what its peer may send unasked (Http2Limits::stream_window).
  virtual void pause() = 0;
  virtual void resume() = 0;
  // The call was useful: its peer may send more frames and calls.
  virtual void earn(double frames) = 0;
};

// What is done with a call; destroyed when the call is over, whoever ended it. On the server's thread.
class CallHandler {
 public:
  virtual ~CallHandler() = default;
  virtual std::size_t most_bytes() const = 0;  // of a message
  virtual void message(ServerCall& call, std::string_view bytes) = 0;
  // The peer sends no more messages.
  virtual void ended(ServerCall&) {}
  // There is room for another message.
  virtual void writable(ServerCall&) {}
};

struct RpcLimits {
  std::uint64_t memory = std::uint64_t{256}
                         << 20U;  // bytes, for connections and for messages that are incomplete
  std::size_t connections = 0;    // 0: what memory and the limit on open files allow
  std::size_t connections_per_name = 8;
  double handshakes_per_second = 400;
  // Frames and calls that a connection may send without anything useful: at once, and per second. A call costs five frames.
  double frame_burst = 2000, frames_per_second = 500;
  Http2Limits http2;
};

// What a server reports. `what` is "refused", "abusive", "full" or "address".
using RpcReport = std::function<void(const RpcPeer& peer, std::string_view what, std::string_view text)>;
// TLS handshakes that did not succeed: the address of the last one, why, and how many there were since the last report. Ten at once, then
// one per second.
using HandshakeReport =
    std::function<void(const std::string& address, const std::string& why, std::uint64_t count)>;

struct RpcServerOptions {
  std::string listen;           // HOST:PORT; port 0 for any free one
  std::optional<TlsFiles> tls;  // absent: plaintext; the caller sees to it that this is loopback
  RpcLimits limits = {};
  // All are called on the server's thread. Why the peer may not connect; empty when it may. Absent: all may.
  std::function<std::string(const RpcPeer&)> refusal = {};
  // A handler for the call's path; null: unimplemented.
  std::function<std::unique_ptr<CallHandler>(ServerCall& call, std::string_view path)> open = {};
  RpcReport report = {};
  HandshakeReport failed_handshakes = {};
};

// Safe to use from any thread, except where it says otherwise.
class RpcServer {
 public:
  // Listens; nobody is accepted before serve(). kNetwork when the address is not available, kBadConfig for unusable certificates and
  // addresses.
  static Result<std::unique_ptr<RpcServer>> open(RpcServerOptions options);
  virtual ~RpcServer() = default;  // stops

  virtual void serve() = 0;                        // once
  virtual const std::string& address() const = 0;  // with the real port
  // Every address that it listens on is loopback.
  virtual bool on_loopback() const = 0;
  // Runs on the server's thread, in order; never once stop() has returned.
  virtual void post(std::function<void()> work) = 0;
  // On the server's thread only. Null when the call is over.
  virtual ServerCall* find(CallId id) = 0;
  // Judges every peer again.
  virtual void recheck() = 0;
  virtual std::size_t connections() const = 0;
  // No new connections from here on.
  virtual void stop_listening() = 0;
  // Ends every call with kUnavailable and every connection, within half a second.
  virtual void stop() = 0;
};

}  // namespace mfl
