// One connection of an RpcServer: its socket, its HTTP/2 session and its calls. Only rpc_server.cc uses it.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "mfl/network/transport/budget.h"
#include "mfl/network/transport/channel.h"
#include "mfl/network/transport/http2.h"
#include "mfl/network/transport/rpc_server.h"

namespace mfl {

class ServerConnection;

// What all connections of a server share. Not thread-safe.
struct ServerShared {
  const RpcServerOptions& options;
  const TlsContext& tls;
  std::uint64_t held = 0;  // bytes of incomplete messages
  CallId last_call = 0;
  std::map<CallId, ServerCall*> calls = {};
  std::vector<int> touched = {};  // sockets of connections with something new to send
};

// Not thread-safe. Every function that may end the connection only marks it: see over().
class ServerConnection final : public Http2Events {
 public:
  // Owns the socket. `origin` is the key of the peer's address (AddressBudgets), `address` its text.
  ServerConnection(int socket, std::string origin, std::string address, ServerShared& shared, SteadyTime now);
  ~ServerConnection() override;

  int socket() const { return channel_->socket(); }
  const RpcPeer& peer() const { return peer_; }
  const std::string& origin() const { return origin_; }
  // After it was admitted.
  bool cut_off() const { return was_admitted_ && refused_; }

  // A step of the handshake. True when it is complete: peer() is known, and admit() or refuse() follows.
  bool shake_hands(SteadyTime now);
  bool in_handshake() const { return state_ == State::kHandshake; }
  // Why the handshake failed; empty otherwise.
  const std::string& failed_handshake() const { return failed_handshake_; }
  const std::string& address() const { return address_; }
  void admit(SteadyTime now);
  // The peer is told why; the connection ends within half a second.
  void refuse(const CallStatus& status, std::uint32_t http2_error, SteadyTime now);

  // Reads and writes what it can without waiting. True: there is more to read at once.
  bool serve(SteadyTime now);
  // Writes what calls have queued meanwhile.
  void flush_output(SteadyTime now);
  // Passes time limits.
  void tick(SteadyTime now);

  bool over() const { return state_ == State::kOver; }
  bool is_open() const { return state_ == State::kOpen; }
  bool wants_write() const { return wants_write_; }
  // Why the peer was cut off for breaking a limit; empty otherwise.
  const std::string& abuse() const { return abuse_; }

 private:
  class Call;
  enum class State {
    kHandshake,
    kOpen,
    kClosing,  // output is written, input ignored
    kOver,
  };

  void headers(StreamId stream, HeaderFields fields, bool ended) override;
  void data(StreamId stream, std::string_view bytes) override;
  void ended(StreamId stream) override;
  void closed(StreamId stream, std::uint32_t error) override;
  bool frame(std::uint8_t type, std::size_t bytes) override;
  void goaway(std::uint32_t, std::string_view) override {}

  void fail_handshake(std::string why);
  void touch();
  void flush(SteadyTime now);
  bool fill();
  bool add_output();
  bool read(SteadyTime now);
  void close_after_output(SteadyTime now);
  void end_abuse(const std::string& why, SteadyTime now);
  void open_call(StreamId stream, HeaderFields fields);

  ServerShared& shared_;
  const std::string origin_, address_;
  std::string failed_handshake_;
  std::unique_ptr<Channel> channel_;
  std::unique_ptr<Http2Session> http2_;
  State state_ = State::kHandshake;
  RpcPeer peer_;
  Budget budget_;
  std::map<StreamId, std::unique_ptr<Call>> calls_;
  std::string out_;
  std::size_t sent_ = 0;  // of out_
  bool wants_write_ = false, pinged_ = false, output_ended_ = false, had_call_ = false, touched_ = false,
       was_admitted_ = false, refused_ = false;
  std::size_t drained_ = 0;  // bytes that were read and ignored
  std::string excess_;       // found while a message was taken
  std::string abuse_;
  SteadyTime now_, since_, heard_, wrote_, idle_since_, closing_since_;
};

}  // namespace mfl
