#include "mfl/network/transport/server_connection.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "mfl/network/admission.h"

namespace mfl {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kHandshakePatience{4'500}, kClosingPatience{400};
constexpr seconds kFirstCall{10}, kIdle{60}, kRequestPatience{20}, kPingClientAfter{5}, kClientGone{10},
    kStreamFarewell{2};
constexpr double kCallCost = 5, kSettingsCost = 10, kResetCost = 10, kInvalidCost = 50, kBytesPerToken = 1024,
                 kRawBytesPerToken = 4096;
constexpr std::size_t kMostDrained = std::size_t{64} << 10U;
constexpr std::size_t kClientReadBytes = std::size_t{64} << 10U, kClientReadsPerTurn = 8;
constexpr std::size_t kMessagesAhead = std::size_t{256}
                                       << 10U;  // bytes that a call queues ahead of its socket

HeaderFields trailers_of(const CallStatus& status) {
  HeaderFields fields{{"grpc-status", fmt::to_string(static_cast<int>(status.code))}};
  if (!status.text.empty()) fields.emplace_back("grpc-message", percent_encoded(status.text));
  return fields;
}

HeaderFields response_head() { return {{":status", "200"}, {"content-type", "application/grpc"}}; }

// As gRPC requires of a request; an HTTP status otherwise.
const char* http_status(const HeaderFields& fields) {
  if (field(fields, ":method") != "POST") return "405";
  return field(fields, "content-type").starts_with("application/grpc") ? nullptr : "415";
}

RpcPeer peer_of(const TlsStream& tls) {
  RpcPeer peer;
  const auto facts = read_certificate(peer_certificate(tls));
  if (!facts) return peer;
  peer.is_this_server = shows_own_certificate(tls);
  if (peer.is_this_server)
    peer.name = kOwnName;
  else if (facts->names.size() == 1)
    peer.name = lower_case(facts->names.front());
  peer.serial = facts->serial;
  peer.certificate_expires = facts->expires.time_since_epoch().count();
  return peer;
}

}  // namespace

class ServerConnection::Call final : public ServerCall {
 public:
  Call(ServerConnection& connection, StreamId stream, HeaderFields fields)
      : connection_(connection),
        stream_(stream),
        fields_(std::move(fields)),
        id_(++connection.shared_.last_call),
        begun_(connection.now_) {
    connection.shared_.calls.emplace(id_, this);
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call() override {
    handler_.reset();
    connection_.shared_.calls.erase(id_);
    hold(0);
  }

  CallId id() const override { return id_; }
  const RpcPeer& peer() const override { return connection_.peer_; }
  std::string_view header(std::string_view name) const override { return field(fields_, name); }

  void send(MessageBytes message) override {
    if (finished_) return;
    if (!std::exchange(responded_, true)) connection_.http2_->respond(stream_, response_head());
    connection_.http2_->send(stream_, std::move(message));
    connection_.touch();
  }
  std::size_t queued() const override { return connection_.http2_->queued(stream_); }

  void finish(const CallStatus& status, bool flush) override {
    if (std::exchange(finished_, true)) return;
    finished_at_ = connection_.now_;
    if (responded_ && !flush) connection_.http2_->drop_queued(stream_);
    HeaderFields fields = trailers_of(status);
    if (!responded_) {
      const HeaderFields head = response_head();
      fields.insert(fields.begin(), head.begin(), head.end());
    }
    connection_.http2_->end(stream_, fields);
    connection_.touch();
  }

  void pause() override { paused_ = true; }
  void resume() override {
    paused_ = false;
    connection_.http2_->consume_stream(stream_, std::exchange(unconsumed_, 0));
    connection_.touch();
  }
  void earn(double frames) override { connection_.budget_.earn(frames); }

  void open() {
    const std::string_view encoding = header("grpc-encoding");
    if (!encoding.empty() && encoding != "identity")
      return finish({StatusCode::kUnimplemented, "compression is not supported"}, false);
    if (connection_.shared_.options.open) handler_ = connection_.shared_.options.open(*this, header(":path"));
    if (!handler_) return finish({StatusCode::kUnimplemented, "unknown method"}, false);
    splitter_ = MessageSplitter(handler_->most_bytes());
  }

  void data(std::string_view bytes) {
    if (paused_) {
      unconsumed_ += bytes.size();
      connection_.http2_->consume_connection(bytes.size());
    } else {
      connection_.http2_->consume(stream_, bytes.size());
    }
    if (finished_ || !handler_) return;
    const auto fault = splitter_.feed(bytes, [this](std::string_view message) {
      has_message_ = true;
      if (!connection_.budget_.spend(1, connection_.now_)) {
        connection_.excess_ = "too many messages without content";
        return false;
      }
      handler_->message(*this, message);
      return !finished_;
    });
    hold(splitter_.held());
    if (fault == MessageSplitter::Fault::kCompressed)
      finish({StatusCode::kUnimplemented, "compression is not supported"}, false);
    else if (fault == MessageSplitter::Fault::kTooLong)
      finish({StatusCode::kResourceExhausted,
              fmt::format("a message of more than {} bytes", handler_->most_bytes())},
             false);
    else if (connection_.shared_.held > connection_.shared_.options.limits.memory / 2)
      finish({StatusCode::kResourceExhausted, "the server has no memory for more messages"}, false);
  }

  void ended() {
    if (finished_ || !handler_ || std::exchange(input_ended_, true)) return;
    if (!splitter_.at_boundary())
      return finish({StatusCode::kInvalidArgument, "the message is cut short"}, false);
    handler_->ended(*this);
  }

  void writable() {
    if (!finished_ && handler_ && queued() < kMessagesAhead) handler_->writable(*this);
  }

  void tick(SteadyTime now) {
    if (finished_) {
      hold(0);
      if (now - finished_at_ > kStreamFarewell) connection_.http2_->reset(stream_, NGHTTP2_CANCEL);
    } else if (!has_message_ && now - begun_ > kRequestPatience) {
      finish({StatusCode::kDeadlineExceeded, "the request is incomplete"}, false);
    }
  }

  // True once, when the answer is on its way and the peer still sends: it is to be told to stop.
  bool is_answered_early() {
    return finished_ && !input_ended_ && queued() == 0 && !std::exchange(told_, true);
  }

 private:
  void hold(std::size_t bytes) {
    connection_.shared_.held += bytes;
    connection_.shared_.held -= std::exchange(held_, bytes);
  }

  ServerConnection& connection_;
  StreamId stream_;
  HeaderFields fields_;
  CallId id_;
  SteadyTime begun_, finished_at_;
  MessageSplitter splitter_{0};
  std::size_t held_ = 0, unconsumed_ = 0;
  bool responded_ = false, finished_ = false, paused_ = false, has_message_ = false, input_ended_ = false,
       told_ = false;
  std::unique_ptr<CallHandler> handler_;
};

ServerConnection::ServerConnection(int socket, std::string origin, std::string address, ServerShared& shared,
                                   SteadyTime now)
    : shared_(shared),
      origin_(std::move(origin)),
      address_(std::move(address)),
      channel_(std::make_unique<Channel>(socket)),
      budget_(shared.options.limits.frame_burst, shared.options.limits.frames_per_second, now),
      now_(now),
      since_(now),
      heard_(now),
      wrote_(now),
      idle_since_(now) {}

ServerConnection::~ServerConnection() { calls_.clear(); }

bool ServerConnection::shake_hands(SteadyTime now) {
  now_ = now;
  if (!shared_.tls) return true;
  if (!channel_->tls()) {
    if (!channel_->start_tls(server_stream(shared_.tls, socket()))) {
      state_ = State::kOver;
      return false;
    }
  }
  const Channel::Io io = channel_->handshake();
  wants_write_ = io == Channel::Io::kWantWrite;
  if (io == Channel::Io::kClosed || io == Channel::Io::kFailed)
    fail_handshake(io == Channel::Io::kFailed ? channel_->failure() : "the connection was closed");
  if (io != Channel::Io::kDone) return false;
  if (!speaks_http2(channel_->tls())) {
    fail_handshake("the peer does not offer HTTP/2");
    return false;
  }
  peer_ = peer_of(channel_->tls());
  return true;
}

void ServerConnection::fail_handshake(std::string why) {
  failed_handshake_ = std::move(why);
  state_ = State::kOver;
}

void ServerConnection::admit(SteadyTime now) {
  now_ = heard_ = wrote_ = idle_since_ = now;
  state_ = State::kOpen;
  was_admitted_ = true;
  http2_ = std::make_unique<Http2Session>(Http2Session::Role::kServer, shared_.options.limits.http2, *this);
}

void ServerConnection::refuse(const CallStatus& status, std::uint32_t http2_error, SteadyTime now) {
  now_ = now;
  if (state_ == State::kClosing || state_ == State::kOver) return;
  refused_ = status.code != StatusCode::kUnavailable || !http2_;
  if (!http2_) admit(now);
  for (const auto& [stream, call] : calls_) call->finish(status, false);
  http2_->goaway(http2_error, status.text);
  close_after_output(now);
}

void ServerConnection::close_after_output(SteadyTime now) {
  state_ = State::kClosing;
  closing_since_ = now;
  flush(now);
}

void ServerConnection::end_abuse(const std::string& why, SteadyTime now) {
  abuse_ = why;
  refuse({StatusCode::kResourceExhausted, abuse_}, NGHTTP2_ENHANCE_YOUR_CALM, now);
}

bool ServerConnection::serve(SteadyTime now) {
  now_ = now;
  const bool more = read(now);
  if (state_ == State::kOpen || state_ == State::kClosing) flush(now);
  return more && !over();
}

void ServerConnection::flush_output(SteadyTime now) {
  now_ = now;
  if (state_ == State::kOpen) flush(now);
}

bool ServerConnection::read(SteadyTime now) {
  thread_local std::array<char, kClientReadBytes> buffer;
  for (std::size_t turn = 0; turn < kClientReadsPerTurn; ++turn) {
    const auto [io, bytes] = channel_->read(buffer.data(), buffer.size());
    if (io == Channel::Io::kWantRead || io == Channel::Io::kWantWrite) return false;
    if (io != Channel::Io::kDone) {
      state_ = State::kOver;
      return false;
    }
    if (state_ != State::kOpen) {  // it only matters that the peer can read why
      drained_ += bytes;
      if (drained_ > kMostDrained) state_ = State::kOver;
      if (over()) return false;
      continue;
    }
    heard_ = now;
    pinged_ = false;
    if (!budget_.spend(static_cast<double>(bytes) / kRawBytesPerToken, now)) {
      end_abuse("too many bytes without content", now);
      return false;
    }
    if (!http2_->receive({buffer.data(), bytes}) || !excess_.empty()) {
      end_abuse(excess_.empty() ? http2_->failure() : excess_, now);
      return false;
    }
    if (bytes < buffer.size() && !channel_->has_pending()) return false;
  }
  return true;
}

// False when there is nothing to send.
bool ServerConnection::fill() {
  if (sent_ < out_.size()) return true;
  out_.clear();
  sent_ = 0;
  do http2_->output(out_);
  while (add_output());
  return !out_.empty();
}

// True when calls had more to say.
bool ServerConnection::add_output() {
  if (out_.size() >= shared_.options.limits.http2.output_bytes || http2_->wants_output()) return false;
  bool more = false;
  for (const auto& [stream, call] : calls_) {
    const std::size_t before = call->queued();
    if (state_ == State::kOpen) call->writable();
    more = more || call->queued() != before;
    if (!call->is_answered_early()) continue;
    http2_->reset(stream, NGHTTP2_NO_ERROR);
    more = true;
  }
  return more;
}

void ServerConnection::touch() {
  if (!std::exchange(touched_, true)) shared_.touched.push_back(socket());
}

void ServerConnection::flush(SteadyTime now) {
  constexpr std::size_t kKept = std::size_t{64} << 10U;
  wants_write_ = touched_ = false;
  while (fill()) {
    const auto [io, bytes] = channel_->write(out_.data() + sent_, out_.size() - sent_);
    if (io == Channel::Io::kWantWrite || io == Channel::Io::kWantRead) {
      wants_write_ = true;
      return;
    }
    if (io != Channel::Io::kDone) {
      state_ = State::kOver;
      return;
    }
    wrote_ = now;
    sent_ += bytes;
    budget_.earn(static_cast<double>(bytes) / kBytesPerToken);
  }
  if (out_.capacity() > kKept && calls_.empty()) std::string().swap(out_);
  if (state_ == State::kOpen && http2_->is_over()) close_after_output(now);
  if (state_ == State::kClosing && !std::exchange(output_ended_, true)) channel_->end_writing();
}

void ServerConnection::tick(SteadyTime now) {
  now_ = now;
  if (state_ == State::kHandshake && now - since_ > kHandshakePatience)
    fail_handshake("the handshake took too long");
  if (state_ == State::kClosing && now - closing_since_ > kClosingPatience) state_ = State::kOver;
  if (state_ != State::kOpen) return;
  if (wants_write_ && now - wrote_ > kClientGone) state_ = State::kOver;
  if (now - heard_ > kClientGone) state_ = State::kOver;
  if (over()) return;
  if (now - heard_ > kPingClientAfter && !std::exchange(pinged_, true)) http2_->ping();
  for (const auto& [stream, call] : calls_) call->tick(now);
  if (!calls_.empty()) {
    idle_since_ = now;
  } else if (now - idle_since_ > (had_call_ ? kIdle : kFirstCall)) {
    return refuse({StatusCode::kUnavailable, "the connection was idle"}, NGHTTP2_NO_ERROR, now);
  }
  flush(now);
}

void ServerConnection::headers(StreamId stream, HeaderFields fields, bool ended) {
  if (!calls_.contains(stream)) {
    if (const char* status = http_status(fields)) {
      http2_->end(stream, {{":status", status}});
      return;
    }
    open_call(stream, std::move(fields));
  }
  if (ended) this->ended(stream);
}

void ServerConnection::open_call(StreamId stream, HeaderFields fields) {
  had_call_ = true;
  const auto [call, added] = calls_.emplace(stream, std::make_unique<Call>(*this, stream, std::move(fields)));
  call->second->open();
}

void ServerConnection::data(StreamId stream, std::string_view bytes) {
  const auto call = calls_.find(stream);
  if (call == calls_.end()) return http2_->consume(stream, bytes.size());
  call->second->data(bytes);
}

void ServerConnection::ended(StreamId stream) {
  if (const auto call = calls_.find(stream); call != calls_.end()) call->second->ended();
}

void ServerConnection::closed(StreamId stream, std::uint32_t) {
  calls_.erase(stream);
  if (calls_.empty()) idle_since_ = now_;
}

bool ServerConnection::frame(std::uint8_t type, std::size_t) {
  switch (type) {
    case NGHTTP2_HEADERS: return budget_.spend(kCallCost, now_);
    case NGHTTP2_SETTINGS: return budget_.spend(kSettingsCost, now_);
    case NGHTTP2_RST_STREAM: return budget_.spend(kResetCost, now_);
    case kInvalidFrame: return budget_.spend(kInvalidCost, now_);
    default: return budget_.spend(1, now_);
  }
}

}  // namespace mfl
