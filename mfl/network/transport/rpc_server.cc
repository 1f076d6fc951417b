#include "mfl/network/transport/rpc_server.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <deque>
#include <mutex>
#include <set>
#include <thread>
#include <unordered_map>
#include <vector>

#include "mfl/network/transport/server_connection.h"
#include "mfl/network/transport/sockets.h"

namespace mfl {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLoopBeat{100}, kGrace{500};
constexpr std::uint64_t kConnectionBytes = std::uint64_t{64} << 10U;  // of memory, at most, without messages
constexpr std::size_t kAcceptsPerTurn = 64;
constexpr std::size_t kHeldPerAddress = 32;  // connections that wait for the budget of their address

// By its peer.
bool is_closed(int socket) {
  char byte = 0;
  const ssize_t got = ::recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

std::string ip_text(const sockaddr* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* const bytes =
      address->sa_family == AF_INET6
          ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr)
          : &reinterpret_cast<const sockaddr_in*>(address)->sin_addr;
  const char* const made = ::inet_ntop(address->sa_family, bytes, text.data(), text.size());
  return made == nullptr ? "" : made;
}

class EpollServer final : public RpcServer {
 public:
  explicit EpollServer(RpcServerOptions options) : options_(std::move(options)) {}
  ~EpollServer() override { stop(); }

  Result<void> begin() {
    if (options_.tls) {
      MFL_TRY(tls_, make_server_context(*options_.tls));
    }
    MFL_TRY(listening_, listen_on(options_.listen));
    address_ = listening_.address;
    epoll_ = OwnedSocket(::epoll_create1(EPOLL_CLOEXEC));
    wakeup_ = OwnedSocket(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (epoll_.get() < 0 || wakeup_.get() < 0)
      return fail(ErrorCode::kNetwork, fmt::format("cannot make an event queue: {}", std::strerror(errno)),
                  "raise the limit on open files (ulimit -n)");
    watch(wakeup_.get(), EPOLLIN, EPOLL_CTL_ADD);
    for (const OwnedSocket& socket : listening_.sockets) watch(socket.get(), EPOLLIN, EPOLL_CTL_ADD);
    const std::size_t by_memory = static_cast<std::size_t>(options_.limits.memory / kConnectionBytes);
    most_ = std::min(available_files(), std::max<std::size_t>(by_memory, 1));
    if (options_.limits.connections != 0) most_ = std::min(most_, options_.limits.connections);
    return {};
  }

  void serve() override {
    thread_ = std::thread([this] { run(); });
  }

  const std::string& address() const override { return address_; }
  bool on_loopback() const override { return listening_.loopback; }
  std::size_t connections() const override { return count_; }

  void post(std::function<void()> work) override {
    {
      const std::lock_guard lock(mutex_);
      if (stopped_) return;
      posted_.push_back(std::move(work));
      if (posted_.size() > 1) return;  // somebody has woken it
    }
    wake();
  }

  ServerCall* find(CallId id) override {
    const auto found = shared_.calls.find(id);
    return found == shared_.calls.end() ? nullptr : found->second;
  }

  void recheck() override { recheck_ = true; }
  void stop_listening() override {
    post([this] { close_listeners(); });
  }

  void stop() override {
    stopping_ = true;
    if (wakeup_.get() >= 0) wake();
    const std::lock_guard lock(join_mutex_);
    if (thread_.joinable()) thread_.join();
  }

 private:
  using Connections = std::unordered_map<int, std::unique_ptr<ServerConnection>>;

  void wake() {
    const std::uint64_t one = 1;
    (void)!::write(wakeup_.get(), &one, sizeof one);
  }

  void watch(int descriptor, std::uint32_t events, int operation) {
    epoll_event event{};
    event.events = events;
    event.data.fd = descriptor;
    ::epoll_ctl(epoll_.get(), operation, descriptor, &event);
  }

  void run() {
    constexpr int kMostEvents = 256;
    std::array<epoll_event, kMostEvents> events{};
    while (!stopping_) {
      const int wait = again_.empty() ? static_cast<int>(kLoopBeat.count()) : 0;
      const int count = ::epoll_wait(epoll_.get(), events.data(), kMostEvents, wait);
      now_ = Clock::now();
      const std::vector<int> again = std::exchange(again_, {});
      for (int i = 0; i < count; ++i) dispatch(events[static_cast<std::size_t>(i)]);
      for (const int descriptor : again) serve_connection(descriptor);
      run_posted();
      shake_waiting();
      if (now_ - ticked_ >= kLoopBeat) tick();
      sweep();
    }
    say_goodbye();
  }

  void dispatch(const epoll_event& event) {
    const int descriptor = event.data.fd;
    if (descriptor == wakeup_.get()) {
      std::uint64_t ignored = 0;
      (void)!::read(wakeup_.get(), &ignored, sizeof ignored);
    } else if (std::ranges::any_of(listening_.sockets,
                                   [&](const OwnedSocket& socket) { return socket.get() == descriptor; })) {
      accept_some(descriptor);
    } else {
      serve_connection(descriptor);
    }
  }

  void run_posted() {
    std::vector<std::function<void()>> work;
    {
      const std::lock_guard lock(mutex_);
      work.swap(posted_);
    }
    for (const auto& item : work) item();
    for (const int descriptor : std::exchange(shared_.touched, {}))
      if (const auto found = connections_.find(descriptor); found != connections_.end()) {
        found->second->flush_output(now_);
        settle(descriptor, *found->second);
      }
  }

  void accept_some(int listener) {
    for (std::size_t i = 0; i < kAcceptsPerTurn; ++i) {
      SocketAddress from;
      from.size = sizeof from.storage;
      const int socket = ::accept4(listener, from.get(), &from.size, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (socket < 0) {
        if (errno == EINTR || errno == ECONNABORTED) continue;
        if (errno == EMFILE || errno == ENFILE) make_place();
        return;
      }
      std::string origin = AddressBudgets::key(from.get());
      if (options_.tls && origins_.is_exhausted(origin, now_) && held_back(origin) >= kHeldPerAddress) {
        ::close(socket);
        report({}, "address",
               fmt::format("too many refused connections from one address: {} closed so far", ++kept_out_));
        continue;
      }
      if (connections_.size() >= most_ && !make_place()) {
        ::close(socket);
        report({}, "full", fmt::format("too many connections: {} closed so far", ++turned_away_));
        continue;
      }
      connections_.emplace(socket, std::make_unique<ServerConnection>(socket, std::move(origin),
                                                                      ip_text(from.get()), shared_, now_));
      newest_.push_back(socket);
      watch(socket, EPOLLIN, EPOLL_CTL_ADD);
    }
  }

  // Ends the oldest connection without an accepted certificate, so that silent ones keep nobody out.
  bool make_place() {
    while (options_.tls && !newest_.empty()) {
      const auto oldest = connections_.find(newest_.front());
      newest_.pop_front();
      if (oldest == connections_.end() || !oldest->second->in_handshake()) continue;
      remove(oldest);
      report({}, "full",
             fmt::format("too many connections: {} closed before their handshake so far", ++evicted_));
      return true;
    }
    return false;
  }

  void serve_connection(int descriptor) {
    const auto found = connections_.find(descriptor);
    if (found == connections_.end()) return;
    ServerConnection& connection = *found->second;
    if (connection.in_handshake()) return shake(descriptor, connection);
    if (connection.serve(now_)) again_.push_back(descriptor);
    settle(descriptor, connection);
  }

  // One handshake costs as much as thousands of frames, so there are only so many per second, in all and from an address whose
  // connections end badly.
  void shake(int descriptor, ServerConnection& connection) {
    if (options_.tls && !started_.contains(descriptor)) {
      if (!origins_.begin(connection.origin(), now_)) return wait(descriptor, held_);
      if (!handshakes_.spend(1, now_)) {
        origins_.admitted(connection.origin());
        return wait(descriptor, waiting_);
      }
      started_.insert(descriptor);
    }
    if (connection.shake_hands(now_)) {
      judge(connection);
      if (connection.is_open() && connection.serve(now_)) again_.push_back(descriptor);
    }
    settle(descriptor, connection);
  }

  // Its socket is not watched meanwhile: a closed one would be reported again and again.
  void wait(int descriptor, std::deque<int>& queue) {
    queue.push_back(descriptor);
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, descriptor, nullptr);
  }

  void shake_waiting() {
    while (!waiting_.empty() && handshakes_.left(now_) >= 1) {
      const int descriptor = waiting_.front();
      waiting_.pop_front();
      resume(descriptor);
    }
  }

  void shake_held() {
    for (const int descriptor : std::exchange(held_, {}))
      if (const auto found = connections_.find(descriptor);
          found != connections_.end() && origins_.is_exhausted(found->second->origin(), now_))
        held_.push_back(descriptor);
      else
        resume(descriptor);
  }

  // The handshake of a connection that waited. Its descriptor may belong to another connection by now.
  void resume(int descriptor) {
    const auto found = connections_.find(descriptor);
    if (found == connections_.end() || !found->second->in_handshake() || started_.contains(descriptor))
      return;
    if (is_closed(descriptor)) return remove(found);
    watch(descriptor, EPOLLIN, EPOLL_CTL_ADD);
    shake(descriptor, *found->second);
  }

  std::size_t held_back(const std::string& origin) const {
    return static_cast<std::size_t>(std::ranges::count_if(held_, [&](int descriptor) {
      const auto found = connections_.find(descriptor);
      return found != connections_.end() && found->second->origin() == origin;
    }));
  }

  // The handshake is complete.
  void judge(ServerConnection& connection) {
    const RpcPeer& peer = connection.peer();
    std::string why;
    if (options_.tls && peer.name.empty()) why = "the certificate must have one name";
    if (options_.tls && why.empty() && options_.refusal && !peer.is_this_server) why = options_.refusal(peer);
    if (!why.empty()) return refuse(connection, {StatusCode::kPermissionDenied, why}, "refused");
    if (options_.tls) {
      if (const auto left = penalties_.left(peer.name, now_); left.count() > 0)
        return refuse(
            connection,
            {StatusCode::kUnavailable,
             fmt::format("{} broke a limit of the server: try again in {} s", peer.name, left.count())},
            "");
      if (by_name_[peer.name] >= options_.limits.connections_per_name)
        return refuse(connection,
                      {StatusCode::kUnavailable, fmt::format("too many connections of {}", peer.name)},
                      "refused");
      ++by_name_[peer.name];
      counted_.insert(connection.socket());
    }
    origins_.admitted(connection.origin());
    connection.admit(now_);
  }

  void refuse(ServerConnection& connection, const CallStatus& status, std::string_view what) {
    if (!what.empty()) report(connection.peer(), what, status.text);
    connection.refuse(
        status, status.code == StatusCode::kPermissionDenied ? NGHTTP2_INADEQUATE_SECURITY : NGHTTP2_NO_ERROR,
        now_);
  }

  void report(const RpcPeer& peer, std::string_view what, std::string_view text) {
    if (options_.report) options_.report(peer, what, text);
  }

  // What the socket waits for; and whether its peer has broken a limit.
  void settle(int descriptor, ServerConnection& connection) {
    if (!connection.abuse().empty() && abusers_.insert(descriptor).second) {
      if (options_.tls) penalties_.add(connection.peer().name, now_);
      report(connection.peer(), "abusive", connection.abuse());
    }
    if (connection.over()) {
      finished_.push_back(descriptor);
    } else if (const bool wants = connection.wants_write(); wants != writing_.contains(descriptor)) {
      watch(descriptor, wants ? EPOLLIN | EPOLLOUT : EPOLLIN, EPOLL_CTL_MOD);
      if (wants)
        writing_.insert(descriptor);
      else
        writing_.erase(descriptor);
    }
  }

  void tick() {
    ticked_ = now_;
    const bool recheck = recheck_.exchange(false);
    const std::int64_t today =
        std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
            .count();
    for (auto& [descriptor, connection] : connections_) {
      if (connection->is_open()) {
        const RpcPeer& peer = connection->peer();
        std::string why;
        if (peer.certificate_expires && *peer.certificate_expires < today)
          why = fmt::format("the certificate of {} has expired", peer.name);
        else if (recheck && options_.tls && options_.refusal && !peer.is_this_server)
          why = options_.refusal(peer);
        if (!why.empty()) refuse(*connection, {StatusCode::kPermissionDenied, why}, "refused");
      }
      connection->tick(now_);
      settle(descriptor, *connection);
    }
    shake_held();
    report_handshakes();
  }

  // The last one that failed, and how many.
  void report_handshakes() {
    if (failed_ == 0 || !options_.failed_handshakes || !failure_lines_.spend(1, now_)) return;
    options_.failed_handshakes(failed_address_, failed_why_, std::exchange(failed_, 0));
  }

  void sweep() {
    for (const int descriptor : std::exchange(finished_, {}))
      if (const auto found = connections_.find(descriptor);
          found != connections_.end() && found->second->over())
        remove(found);
    count_ = connections_.size();
    constexpr std::size_t kFew = 1024;
    if (newest_.size() > kFew + 2 * connections_.size())
      std::erase_if(newest_, [this](int socket) { return !connections_.contains(socket); });
  }

  void remove(Connections::iterator connection) {
    const int descriptor = connection->first;
    if (const std::string& why = connection->second->failed_handshake(); options_.tls && !why.empty()) {
      ++failed_;
      failed_address_ = connection->second->address();
      failed_why_ = why;
      report_handshakes();
    }
    if (connection->second->cut_off()) origins_.ended_badly(connection->second->origin(), now_);
    if (counted_.erase(descriptor) != 0)
      if (const auto name = by_name_.find(connection->second->peer().name); --name->second == 0)
        by_name_.erase(name);
    started_.erase(descriptor);
    writing_.erase(descriptor);
    abusers_.erase(descriptor);
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, descriptor, nullptr);
    connections_.erase(connection);
  }

  void close_listeners() {
    for (const OwnedSocket& socket : listening_.sockets)
      ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, socket.get(), nullptr);
    listening_.sockets.clear();
  }

  void say_goodbye() {
    close_listeners();
    run_posted();
    now_ = Clock::now();
    const auto until = now_ + kGrace;
    for (auto& [descriptor, connection] : connections_)
      if (connection->is_open())
        refuse(*connection, {StatusCode::kUnavailable, "the server is stopping"}, "");
    constexpr std::chrono::milliseconds kPause{5};
    while (now_ < until && std::ranges::any_of(connections_, [](const auto& entry) {
             return !entry.second->in_handshake() && !entry.second->over();
           })) {
      std::this_thread::sleep_for(kPause);
      now_ = Clock::now();
      for (auto& [descriptor, connection] : connections_)
        if (!connection->in_handshake() && !connection->over()) connection->serve(now_);
    }
    connections_.clear();
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    posted_.clear();
  }

  RpcServerOptions options_;
  TlsContext tls_;
  ListeningSockets listening_;
  std::string address_;
  OwnedSocket epoll_, wakeup_;
  std::size_t most_ = 0;
  std::atomic<bool> stopping_{false}, recheck_{false};
  std::atomic<std::size_t> count_{0};
  std::mutex join_mutex_;
  std::mutex mutex_;
  std::vector<std::function<void()>> posted_;
  bool stopped_ = false;

  // Of the server's thread.
  SteadyTime now_ = Clock::now(), ticked_ = now_;
  ServerShared shared_{options_, tls_};
  Connections connections_;
  std::map<std::string, std::size_t> by_name_;
  std::set<int> counted_;  // in by_name_
  std::set<int> started_;  // whose handshake has begun
  std::set<int> writing_;  // that wait until their socket takes more
  std::set<int> abusers_;  // already reported
  std::deque<int>
      newest_;  // sockets in the order in which they were accepted; may be closed or past their handshake
  std::deque<int> waiting_;  // for their handshake
  std::deque<int> held_;     // for their handshake and the budget of their address
  std::vector<int> again_;   // with more to read
  std::vector<int> finished_;
  Budget handshakes_{options_.limits.handshakes_per_second, options_.limits.handshakes_per_second, now_};
  Penalties penalties_;
  AddressBudgets origins_;
  std::uint64_t turned_away_ = 0, kept_out_ = 0, evicted_ = 0;
  std::uint64_t failed_ = 0;  // handshakes, since the last report
  std::string failed_address_, failed_why_;
  Budget failure_lines_{10, 1, now_};
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<RpcServer>> RpcServer::open(RpcServerOptions options) {
  auto server = std::make_unique<EpollServer>(std::move(options));
  MFL_CHECK(server->begin());
  return server;
}

}  // namespace mfl
