#include "mfl/network/transport/rpc_client.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

namespace mfl {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kConnectPatience{5}, kPingServerAfter{5}, kServerGone{10}, kCareEvery{1};
constexpr std::size_t kReadBytes = std::size_t{64} << 10U;
constexpr std::size_t kReadsPerTurn = 4;  // so that messages are looked at while they are in the cache
constexpr std::size_t kMostQueued = std::size_t{512} << 10U;
constexpr std::size_t kMostSpareBuffers = 4;

Http2Limits client_limits() {
  Http2Limits limits;
  limits.stream_window = 4 << 20;
  limits.connection_window = 8 << 20;
  return limits;
}

StatusCode status_code(std::string_view text) {
  constexpr int kLast = 16;
  int number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || stop != text.data() + text.size() || number < 0 || number > kLast)
    return StatusCode::kUnknown;
  return static_cast<StatusCode>(number);
}

}  // namespace

RpcClient::RpcClient(RpcClientOptions options) : options_(std::move(options)) {}

Result<std::unique_ptr<RpcClient>> RpcClient::make(RpcClientOptions options) {
  auto client = std::unique_ptr<RpcClient>(new RpcClient(std::move(options)));
  MFL_CHECK(client->begin());
  return client;
}

Result<void> RpcClient::begin() {
  if (options_.tls) {
    MFL_TRY(tls_, make_client_context(*options_.tls));
  }
  wakeup_ = OwnedSocket(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (wakeup_.get() < 0)
    return fail(ErrorCode::kNetwork, fmt::format("cannot make an eventfd: {}", std::strerror(errno)),
                "raise the limit on open files (ulimit -n)");
  keeper_ = std::thread([this] { look_after_connection(); });
  return {};
}

RpcClient::~RpcClient() {
  {
    const std::lock_guard lock(idle_mutex_);
    quitting_ = true;
  }
  idle_changed_.notify_all();
  if (keeper_.joinable()) keeper_.join();
  if (!http2_) return;
  http2_->goaway(NGHTTP2_NO_ERROR, "");
  (void)flush();
  channel_->end_writing();
}

void RpcClient::look_after_connection() {
  std::unique_lock idle(idle_mutex_);
  while (!idle_changed_.wait_for(idle, kCareEvery, [this] { return quitting_; })) {
    // Where a call is in progress its own thread does this.
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock() || !http2_) continue;
    move_bytes();
    keep_alive();
  }
}

void RpcClient::cancel() {
  cancelled_ = true;
  const std::uint64_t one = 1;
  (void)!::write(wakeup_.get(), &one, sizeof one);
}

StreamId RpcClient::open(std::string_view path, Deadline deadline) {
  const std::lock_guard lock(mutex_);
  if (http2_) move_bytes();  // it may have been lost since
  if ((!http2_ || farewell_) && !connect(deadline)) return -1;
  HeaderFields fields = {{":method", "POST"},
                         {":scheme", options_.tls ? "https" : "http"},
                         {":path", std::string(path)},
                         {":authority", options_.server},
                         {"content-type", "application/grpc"},
                         {"te", "trailers"}};
  fields.insert(fields.end(), options_.metadata.begin(), options_.metadata.end());
  const StreamId call = http2_->request(fields);
  if (call < 0) {
    lose({StatusCode::kUnavailable, "the connection takes no more calls"});
    return -1;
  }
  calls_.emplace(call, Call(options_.most_bytes));
  return call;
}

bool RpcClient::wait_for_room(StreamId call, Deadline deadline) {
  const auto ended = [&] {
    const auto open = calls_.find(call);
    return open == calls_.end() || open->second.status.has_value();
  };
  return pump(deadline, [&] { return ended() || http2_->queued(call) < kMostQueued; }) && !ended();
}

bool RpcClient::send(StreamId call, MessageBytes message, Deadline deadline) {
  const std::lock_guard lock(mutex_);
  if (!wait_for_room(call, deadline)) return false;
  http2_->send(call, std::move(message));
  return true;
}

bool RpcClient::send(StreamId call, const std::function<void(std::string&)>& write, Deadline deadline) {
  const std::lock_guard lock(mutex_);
  if (!wait_for_room(call, deadline)) return false;
  const auto unused =
      std::ranges::find_if(written_, [](const auto& message) { return message.use_count() <= 1; });
  std::shared_ptr<std::string> fresh;
  std::shared_ptr<std::string>& message = unused == written_.end() ? fresh : *unused;
  if (message == nullptr) message = std::make_shared<std::string>();
  message->clear();
  write(*message);
  http2_->send(call, message);
  return true;
}

void RpcClient::end(StreamId call) {
  const std::lock_guard lock(mutex_);
  if (http2_) http2_->end(call);
}

std::optional<std::string> RpcClient::read(StreamId call, Deadline deadline, std::string buffer) {
  const std::lock_guard lock(mutex_);
  if (buffer.capacity() > std::string().capacity() && spare_buffers_.size() < kMostSpareBuffers)
    spare_buffers_.push_back(std::move(buffer));
  const auto open = calls_.find(call);
  if (open == calls_.end()) return std::nullopt;
  Call& state = open->second;
  pump(deadline, [&] { return !state.messages.empty() || state.status.has_value(); });
  if (state.messages.empty()) return std::nullopt;
  std::string message = std::move(state.messages.front());
  state.messages.pop_front();
  if (http2_) http2_->consume(call, message.size() + kPrefixBytes);
  return message;
}

CallStatus RpcClient::finish(StreamId call, Deadline deadline) {
  const std::lock_guard lock(mutex_);
  const auto open = calls_.find(call);
  if (open == calls_.end()) return failure_;
  const bool ended = pump(deadline, [&] { return open->second.status.has_value(); });
  CallStatus status = ended        ? *open->second.status
                      : cancelled_ ? CallStatus{StatusCode::kCancelled, "cancelled"}
                                   : CallStatus{StatusCode::kDeadlineExceeded, "no answer in time"};
  if (!ended && http2_) http2_->reset(call, NGHTTP2_CANCEL);
  calls_.erase(call);
  return status;
}

void RpcClient::abandon(StreamId call) {
  const std::lock_guard lock(mutex_);
  if (calls_.erase(call) == 0 || !http2_) return;
  http2_->reset(call, NGHTTP2_CANCEL);
  (void)flush();
}

bool RpcClient::connect(Deadline deadline) {
  lose({StatusCode::kUnavailable, "reconnecting"});
  failure_ = {};
  const auto soon = Clock::now() + kConnectPatience;
  const Deadline until = deadline ? std::min(*deadline, soon) : soon;
  auto socket = connect_to(options_.server, std::chrono::duration_cast<milliseconds>(*until - Clock::now()),
                           !options_.tls, [this] { return cancelled_.load(); });
  if (!socket) {
    failure_ = {StatusCode::kUnavailable, socket.error().text()};
    return false;
  }
  channel_ = std::make_unique<Channel>(socket->release());
  if (options_.tls && !shake_hands(until)) {
    channel_.reset();
    return false;
  }
  http2_ = std::make_unique<Http2Session>(Http2Session::Role::kClient, client_limits(),
                                          static_cast<Http2Events&>(*this));
  heard_ = wrote_ = Clock::now();
  pinged_ = false;
  return true;
}

bool RpcClient::shake_hands(Deadline deadline) {
  const std::string host = parse_address("--server", options_.server, PortZero::kRefused)->host;
  if (!channel_->start_tls(client_stream(tls_, channel_->socket(), host))) {
    failure_ = {StatusCode::kUnavailable, tls_error()};
    return false;
  }
  for (;;) {
    switch (channel_->handshake()) {
      case Channel::Io::kDone:
        server_certificate_ = peer_certificate(channel_->tls());
        if (speaks_http2(channel_->tls())) return true;
        failure_ = {StatusCode::kUnavailable, "the server does not speak HTTP/2"};
        return false;
      case Channel::Io::kWantRead: wait_for_socket(POLLIN, deadline); break;
      case Channel::Io::kWantWrite: wait_for_socket(POLLOUT, deadline); break;
      case Channel::Io::kClosed:
        failure_ = {StatusCode::kUnavailable, "the server closed the connection during the handshake"};
        return false;
      case Channel::Io::kFailed:
        failure_ = {channel_->refused() ? StatusCode::kUnauthenticated : StatusCode::kUnavailable,
                    channel_->failure()};
        return false;
    }
    if (cancelled_ || Clock::now() >= *deadline) {
      failure_ = {StatusCode::kUnavailable, "no answer to the TLS handshake"};
      return false;
    }
  }
}

void RpcClient::lose(CallStatus why) {
  if (farewell_) why = *std::exchange(farewell_, std::nullopt);
  failure_ = why;
  for (auto& [stream, call] : calls_)
    if (!call.status) call.status = why;
  http2_.reset();
  channel_.reset();
  out_.clear();
  sent_ = 0;
}

bool RpcClient::flush() {
  for (;;) {
    if (sent_ == out_.size()) {
      out_.clear();
      sent_ = 0;
      http2_->output(out_);
      if (out_.empty()) return true;
    }
    const auto [io, bytes] = channel_->write(out_.data() + sent_, out_.size() - sent_);
    if (io == Channel::Io::kWantWrite || io == Channel::Io::kWantRead) return true;
    if (io != Channel::Io::kDone) return false;
    sent_ += bytes;
    wrote_ = Clock::now();
  }
}

bool RpcClient::move_bytes() {
  thread_local std::array<char, kReadBytes> buffer;
  const bool flushed = flush();
  bool received = false;
  for (std::size_t turn = 0; turn < kReadsPerTurn; ++turn) {
    const auto [io, bytes] = channel_->read(buffer.data(), buffer.size());
    if (io == Channel::Io::kWantRead || io == Channel::Io::kWantWrite) break;
    if (io != Channel::Io::kDone) {
      lose({channel_->refused() ? StatusCode::kUnauthenticated : StatusCode::kUnavailable,
            channel_->failure().empty() ? "the server closed the connection" : channel_->failure()});
      return true;
    }
    received = true;
    heard_ = Clock::now();
    pinged_ = false;
    if (!http2_->receive({buffer.data(), bytes})) {
      lose({StatusCode::kUnavailable, "HTTP/2: " + http2_->failure()});
      return true;
    }
    if (bytes < buffer.size() && !channel_->has_pending()) break;
  }
  if (!flushed || (received && !flush())) lose({StatusCode::kUnavailable, channel_->failure()});
  return received;
}

void RpcClient::keep_alive() {
  if (!http2_) return;
  const auto now = Clock::now();
  if (now - heard_ > kServerGone) return lose({StatusCode::kUnavailable, "the server no longer answers"});
  if (now - heard_ <= kPingServerAfter || std::exchange(pinged_, true)) return;
  http2_->ping();
  if (!flush()) lose({StatusCode::kUnavailable, channel_->failure()});
}

template <class Done>
bool RpcClient::pump(Deadline deadline, Done done) {
  for (;;) {
    if (!http2_ || cancelled_) return http2_ == nullptr && done();
    move_bytes();
    if (!http2_ || done()) return http2_ != nullptr || done();
    if (deadline && Clock::now() >= *deadline) return false;
    keep_alive();
    if (http2_ && !channel_->has_pending())
      wait_for_socket(sent_ < out_.size() ? POLLIN | POLLOUT : POLLIN, deadline);
  }
}

void RpcClient::wait_for_socket(short events, Deadline deadline) {
  milliseconds patience = kCareEvery;
  if (deadline)
    patience =
        std::clamp(std::chrono::ceil<milliseconds>(*deadline - Clock::now()), milliseconds(0), patience);
  std::array<pollfd, 2> waits = {pollfd{channel_->socket(), events, 0}, pollfd{wakeup_.get(), POLLIN, 0}};
  ::poll(waits.data(), waits.size(), static_cast<int>(patience.count()));
}

void RpcClient::headers(StreamId stream, HeaderFields fields, bool ended) {
  const auto call = calls_.find(stream);
  if (call == calls_.end()) return;
  if (!std::exchange(call->second.has_head, true) && field(fields, ":status") != "200")
    call->second.status = {StatusCode::kUnknown, fmt::format("HTTP status {}", field(fields, ":status"))};
  if (ended && !call->second.status)
    call->second.status = {status_code(field(fields, "grpc-status")),
                           percent_decoded(field(fields, "grpc-message"))};
}

void RpcClient::data(StreamId stream, std::string_view bytes) {
  const auto call = calls_.find(stream);
  if (call == calls_.end()) return http2_->consume(stream, bytes.size());
  const auto fault = call->second.splitter.feed(bytes, [&](std::string_view message) {
    std::string buffer;
    if (!spare_buffers_.empty()) {
      buffer = std::move(spare_buffers_.back());
      spare_buffers_.pop_back();
    }
    call->second.messages.push_back(call->second.splitter.own(message, std::move(buffer)));
    return true;
  });
  if (fault == MessageSplitter::Fault::kNone) return;
  http2_->reset(stream, NGHTTP2_CANCEL);
  if (!call->second.status)
    call->second.status = {StatusCode::kInvalidArgument,
                           "the server sent a message that is too long or compressed"};
}

void RpcClient::ended(StreamId stream) {
  if (const auto call = calls_.find(stream); call != calls_.end() && !call->second.status)
    call->second.status = {StatusCode::kInternal, "the server ended the call without a status"};
}

void RpcClient::closed(StreamId stream, std::uint32_t error) {
  if (const auto call = calls_.find(stream); call != calls_.end() && !call->second.status)
    call->second.status = farewell_.value_or(
        CallStatus{StatusCode::kUnavailable, fmt::format("the server reset the call ({})", error)});
}

void RpcClient::goaway(std::uint32_t error, std::string_view text) {
  const StatusCode code = error == NGHTTP2_INADEQUATE_SECURITY ? StatusCode::kPermissionDenied
                          : error == NGHTTP2_ENHANCE_YOUR_CALM ? StatusCode::kResourceExhausted
                                                               : StatusCode::kUnavailable;
  farewell_ = {code, text.empty() ? "the server ended the connection" : std::string(text)};
}

}  // namespace mfl
