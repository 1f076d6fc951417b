// A gRPC client with one connection and blocking calls.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "mfl/base/result.h"
#include "mfl/network/certs.h"
#include "mfl/network/transport/call_status.h"
#include "mfl/network/transport/channel.h"
#include "mfl/network/transport/http2.h"
#include "mfl/network/transport/sockets.h"

namespace mfl {

struct RpcClientOptions {
  std::string server;           // HOST:PORT
  std::optional<TlsFiles> tls;  // absent: plaintext, to loopback only
  HeaderFields metadata = {};   // sent with every call
  std::size_t most_bytes = 0;   // of a message
};

// Connects with its first call, and again with the first call after the connection was lost; open calls are lost with it. Between
// calls a thread of its own answers the server's pings and notices when it no longer answers. Calls are made from one thread;
// cancel() may come from any.
class RpcClient final : public Http2Events {
 public:
  using Clock = std::chrono::steady_clock;
  using Deadline = std::optional<Clock::time_point>;  // nothing: none

  // kBadConfig for unusable certificates.
  static Result<std::unique_ptr<RpcClient>> make(RpcClientOptions options);
  ~RpcClient() override;

  // Opens a call. -1 when there is no connection: see failure().
  StreamId open(std::string_view path, Deadline deadline);
  // Waits while the server takes no more. False when the call has ended: see finish().
  bool send(StreamId call, MessageBytes message, Deadline deadline);
  // The same; write() appends the message to an empty string, whose memory is reused.
  bool send(StreamId call, const std::function<void(std::string&)>& write, Deadline deadline);
  void end(StreamId call);
  // The next message, or nothing when the call has ended. The memory of `buffer` is used for a later one.
  std::optional<std::string> read(StreamId call, Deadline deadline, std::string buffer = {});
  // Waits for the end of the call and forgets it.
  CallStatus finish(StreamId call, Deadline deadline);
  // Ends and forgets the call.
  void abandon(StreamId call);

  // Why there is no connection.
  const CallStatus& failure() const { return failure_; }
  // Of the server, in PEM; empty before the first call and without TLS.
  const std::string& server_certificate() const { return server_certificate_; }

  // Ends the call in progress and every later one.
  void cancel();

 private:
  struct Call {
    explicit Call(std::size_t most_bytes) : splitter(most_bytes) {}
    MessageSplitter splitter;
    std::deque<std::string> messages;
    std::optional<CallStatus> status;
    bool has_head = false;
  };

  explicit RpcClient(RpcClientOptions options);
  Result<void> begin();

  void headers(StreamId stream, HeaderFields fields, bool ended) override;
  void data(StreamId stream, std::string_view bytes) override;
  void ended(StreamId stream) override;
  void closed(StreamId stream, std::uint32_t error) override;
  bool frame(std::uint8_t, std::size_t) override { return true; }
  void goaway(std::uint32_t error, std::string_view text) override;

  bool connect(Deadline deadline);
  bool shake_hands(Deadline deadline);
  void lose(CallStatus why);
  // Moves bytes without waiting. True when something was received.
  bool move_bytes();
  bool flush();
  void keep_alive();
  // Moves bytes until done() or the deadline. False when it was not reached.
  template <class Done>
  bool pump(Deadline deadline, Done done);
  bool wait_for_room(StreamId call, Deadline deadline);
  void wait_for_socket(short events, Deadline deadline);
  void look_after_connection();

  RpcClientOptions options_;
  TlsContext tls_;
  OwnedSocket wakeup_;
  std::atomic<bool> cancelled_{false};

  std::mutex mutex_;  // of everything below; the caller's thread holds it during a call
  std::unique_ptr<Channel> channel_;
  std::unique_ptr<Http2Session> http2_;
  std::string out_;
  std::size_t sent_ = 0;
  std::map<StreamId, Call> calls_;
  std::vector<std::string> spare_buffers_;  // for messages that arrive
  std::array<std::shared_ptr<std::string>, 4>
      written_;  // messages, sent or waiting: more than wait at a time
  CallStatus failure_;
  std::optional<CallStatus> farewell_;  // the server's
  std::string server_certificate_;
  Clock::time_point heard_, wrote_;
  bool pinged_ = false;

  std::mutex idle_mutex_;
  std::condition_variable idle_changed_;
  bool quitting_ = false;
  std::thread keeper_;
};

}  // namespace mfl
