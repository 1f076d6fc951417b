#include "mfl/network/server.h"

#include <fmt/format.h>
#include <grpcpp/ext/health_check_service_server_builder_option.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/security/server_credentials.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "mfl/network/metrics.h"
#include "mfl/network/wire.grpc.pb.h"
#include "mfl/network/wire.h"

namespace mfl {
namespace {

namespace v1 = wire::v1;

constexpr const char* kNameHeader = "mfl-node";  // plaintext only: there is no certificate to have a name

struct Peer {
  std::string name;
  std::string serial;   // of its certificate, hex
  std::string refusal;  // why it may not call; empty when it may
};

Time clock_now() {
  return std::chrono::duration_cast<Time>(std::chrono::steady_clock::now().time_since_epoch());
}

std::string to_string(grpc::string_ref text) { return {text.data(), text.size()}; }

class AttendReactor;
class SubmitReactor;

// The coordinator, the clock and everybody who is connected, under one lock. Calls into gRPC may come back on the same
// thread, so the lock may be taken twice.
class Desk {
 public:
  Desk(std::unique_ptr<Coordinator> coordinator, Plan plan, ServerOptions options)
      : plan_(std::move(plan)),
        options_(std::move(options)),
        coordinator_(std::move(coordinator)),
        admission_(options_.admission) {}

  const Plan& plan() const { return plan_; }

  // Does `what` with the coordinator, then gives everybody the orders that follow from it.
  template <class F>
  auto with(F what) {
    const std::lock_guard lock(mutex_);
    auto result = what(*coordinator_, clock_now());
    wake();
    return result;
  }

  // Gives one node what it has not heard yet.
  void tell(AttendReactor& reactor);

  FederationStatus status() const {
    const std::lock_guard lock(mutex_);
    return coordinator_->status();
  }
  std::optional<Error> failure() const {
    const std::lock_guard lock(mutex_);
    return coordinator_->failure();
  }
  std::size_t attending() const {
    const std::lock_guard lock(mutex_);
    return attending_.size();
  }

  Peer identify(const grpc::CallbackServerContext& context);
  std::string refusal(const Peer& peer) {
    const std::lock_guard lock(mutex_);
    return admission_.refusal(peer.name, peer.serial);
  }

  void log(LogLine::Level level, std::string event, std::vector<std::pair<std::string, std::string>> fields) {
    const std::lock_guard lock(mutex_);
    if (options_.log) options_.log({level, std::move(event), std::move(fields)});
  }
  void log_refusal(const Peer& peer, std::string_view call, std::string_view reason, std::string_view text) {
    log(LogLine::Level::kWarning, "refused",
        {{"node", peer.name},
         {"call", std::string(call)},
         {"reason", std::string(reason)},
         {"text", std::string(text)}});
  }

  void tick();
  void end_all();

  std::recursive_mutex& mutex() { return mutex_; }
  std::set<AttendReactor*>& attendees() { return attending_; }
  std::map<std::string, SubmitReactor*>& uploads() { return uploads_; }

 private:
  void wake();
  void log_progress();

  Plan plan_;
  ServerOptions options_;
  mutable std::recursive_mutex mutex_;
  std::unique_ptr<Coordinator> coordinator_;
  Admission admission_;
  std::set<AttendReactor*> attending_;
  std::map<std::string, SubmitReactor*> uploads_;
  FederationStatus logged_;
  std::uint64_t heard_ = 0;  // the news that everybody was told
};

// A node's presence: orders as they come, until the run or the session ends.
class AttendReactor final : public grpc::ServerWriteReactor<v1::Order> {
 public:
  AttendReactor(Desk& desk, Peer peer) : desk_(desk), peer_(std::move(peer)) {}

  void begin(const v1::Joining& request) {
    const std::lock_guard lock(desk_.mutex());
    if (!peer_.refusal.empty()) {
      desk_.log_refusal(peer_, "attend", "admission", peer_.refusal);
      return finish({grpc::StatusCode::PERMISSION_DENIED, peer_.refusal});
    }
    const auto joining = wire::from_message(request);
    if (!joining) {
      desk_.log_refusal(peer_, "attend", "protocol", joining.error().text());
      return finish({grpc::StatusCode::FAILED_PRECONDITION, joining.error().text()});
    }
    const Joined joined =
        desk_.with([&](Coordinator& c, Time now) { return c.join(now, peer_.name, *joining); });
    if (!joined.verdict.counts()) {
      desk_.log_refusal(peer_, "attend", reason_name(joined.verdict.reason), joined.verdict.text);
      return finish({grpc::StatusCode::FAILED_PRECONDITION, joined.verdict.text});
    }
    session_ = joined.session;
    desk_.log(LogLine::Level::kInfo, "joined",
              {{"node", peer_.name}, {"samples", fmt::to_string(joining->weight)}});
    desk_.attendees().insert(this);
    write();  // the empty order: it has joined
  }

  // With the lock held: what is there to be said?
  void wake(const Coordinator& coordinator) {
    if (writing_ || finished_) return;
    Order order = coordinator.order_for(peer_.name, session_, last_);
    switch (order.kind) {
      case Order::Kind::kNone: return;
      case Order::Kind::kEnded:
        return finish({grpc::StatusCode::ABORTED, "the session has ended: join again"});
      case Order::Kind::kTask: last_ = order.task.ticket; break;
      case Order::Kind::kDone: break;
    }
    order_ = std::move(order);
    piece_ = 0;
    write();
  }

  void end(const grpc::Status& status) { finish(status); }
  const Peer& peer() const { return peer_; }

  void OnWriteDone(bool ok) override {
    const std::lock_guard lock(desk_.mutex());
    writing_ = false;
    if (!ok) return finish(grpc::Status::CANCELLED);
    if (finished_) return;
    if (++piece_ < wire::pieces(order_)) return write();
    if (order_.kind == Order::Kind::kDone) return finish(grpc::Status::OK);
    order_ = {};
    desk_.tell(*this);
  }

  void OnCancel() override {
    const std::lock_guard lock(desk_.mutex());
    finish(grpc::Status::CANCELLED);
  }

  void OnDone() override {
    {
      const std::lock_guard lock(desk_.mutex());
      desk_.attendees().erase(this);
      if (session_ != 0) {
        desk_.log(LogLine::Level::kInfo, "left", {{"node", peer_.name}});
        desk_.with([&](Coordinator& c, Time now) {
          c.leave(now, peer_.name, session_);
          return 0;
        });
      }
    }
    delete this;
  }

 private:
  void write() {
    writing_ = true;
    message_ = wire::piece(order_, piece_);
    StartWrite(&message_);
  }

  void finish(const grpc::Status& status) {
    if (finished_) return;
    finished_ = true;
    Finish(status);
  }

  Desk& desk_;
  Peer peer_;
  std::uint64_t session_ = 0;
  Ticket last_;
  Order order_;
  std::size_t piece_ = 0;
  v1::Order message_;
  bool writing_ = false, finished_ = false;
};

// An update that comes in parts. Holds no more than one State: the header is judged before the rest is taken.
class SubmitReactor final : public grpc::ServerReadReactor<v1::UpdatePart> {
 public:
  SubmitReactor(Desk& desk, Peer peer, grpc::CallbackServerContext* context, v1::Verdict* response)
      : desk_(desk), peer_(std::move(peer)), context_(context), response_(response) {}

  void begin() {
    const std::lock_guard lock(desk_.mutex());
    if (!peer_.refusal.empty()) {
      desk_.log_refusal(peer_, "submit", "admission", peer_.refusal);
      return finish({grpc::StatusCode::PERMISSION_DENIED, peer_.refusal});
    }
    SubmitReactor*& current = desk_.uploads()[peer_.name];
    if (current != nullptr) current->context_->TryCancel();  // one a node; the newest counts
    current = this;
    StartRead(&part_);
  }

  void OnReadDone(bool ok) override {
    const std::lock_guard lock(desk_.mutex());
    if (finished_) return;
    if (!ok) {
      if (context_->IsCancelled()) return finish(grpc::Status::CANCELLED);
      return conclude();
    }
    const bool first = !reader_.has_header();
    if (const auto taken = reader_.take(part_); !taken) {
      desk_.log_refusal(peer_, "submit", "malformed", taken.error().text());
      return finish({grpc::StatusCode::INVALID_ARGUMENT, taken.error().text()});
    }
    if (first) {
      const Ticket ticket = reader_.header().ticket;
      const auto expected =
          desk_.with([&](Coordinator& c, Time) { return c.payload_size(peer_.name, ticket); });
      if (expected != reader_.size()) return judge(reader_.header());
    }
    StartRead(&part_);
  }

  void OnCancel() override {
    const std::lock_guard lock(desk_.mutex());
    finish(grpc::Status::CANCELLED);
  }

  void OnDone() override {
    {
      const std::lock_guard lock(desk_.mutex());
      const auto current = desk_.uploads().find(peer_.name);
      if (current != desk_.uploads().end() && current->second == this) desk_.uploads().erase(current);
    }
    delete this;
  }

 private:
  void conclude() {
    if (!reader_.has_header())
      return finish({grpc::StatusCode::INVALID_ARGUMENT, "an update without a header"});
    // One that is cut short is judged by what is there: its shape is wrong.
    const Update partial = reader_.header();
    const auto whole = reader_.finish();
    judge(whole ? *whole : partial);
  }

  void judge(const Update& update) {
    const Verdict verdict =
        desk_.with([&](Coordinator& c, Time now) { return c.submit(now, peer_.name, update); });
    if (!verdict.counts()) desk_.log_refusal(peer_, "submit", reason_name(verdict.reason), verdict.text);
    *response_ = wire::to_message(verdict);
    finish(grpc::Status::OK);
  }

  void finish(const grpc::Status& status) {
    if (finished_) return;
    finished_ = true;
    Finish(status);
  }

  Desk& desk_;
  Peer peer_;
  grpc::CallbackServerContext* context_;
  v1::Verdict* response_;
  v1::UpdatePart part_;
  wire::UpdateReader reader_;
  bool finished_ = false;
};

Peer Desk::identify(const grpc::CallbackServerContext& context) {
  Peer peer;
  const auto auth = context.auth_context();
  const auto named = context.client_metadata().find(kNameHeader);
  const bool has_name = named != context.client_metadata().end();
  if (!options_.tls) {
    if (has_name) peer.name = to_string(named->second);
    if (peer.name.empty()) peer.refusal = "without TLS a node needs --name";
  } else {
    const auto names = auth->FindPropertyValues("x509_subject_alternative_name");
    if (names.size() == 1) peer.name = to_string(names[0]);
    if (names.size() != 1) peer.refusal = "the certificate must have one name";
    if (has_name && to_string(named->second) != peer.name)
      peer.refusal = fmt::format("{} calls itself {}", peer.name, to_string(named->second));
    const auto certificate = auth->FindPropertyValues("x509_pem_cert");
    if (!certificate.empty()) peer.serial = certificate_serial(to_string(certificate[0]));
  }
  const std::lock_guard lock(mutex_);
  if (peer.refusal.empty()) peer.refusal = admission_.refusal(peer.name, peer.serial);
  return peer;
}

void Desk::wake() {
  if (coordinator_->news() == heard_) return log_progress();
  heard_ = coordinator_->news();
  // Those who end while the others are told leave the set only in OnDone, which needs the lock or is this thread.
  const std::vector<AttendReactor*> now(attending_.begin(), attending_.end());
  for (AttendReactor* reactor : now)
    if (attending_.contains(reactor)) reactor->wake(*coordinator_);
  log_progress();
}

void Desk::tell(AttendReactor& reactor) {
  const std::lock_guard lock(mutex_);
  reactor.wake(*coordinator_);
}

void Desk::log_progress() {
  const FederationStatus status = coordinator_->status();
  if (status.round != logged_.round)
    log(LogLine::Level::kInfo, "round",
        {{"round", fmt::to_string(status.round)},
         {"step", fmt::format("{}/{}", status.step, status.steps)},
         {"loss", status.train_loss ? fmt::format("{:.9g}", *status.train_loss) : "-"},
         {"nodes", fmt::to_string(status.nodes)}});
  if (status.abandoned != logged_.abandoned)
    log(LogLine::Level::kWarning, "abandoned", {{"text", status.trouble}});
  if (status.phase != logged_.phase &&
      (status.phase == "done" || status.phase == "diverged" || status.phase == "failed"))
    log(status.phase == "done" ? LogLine::Level::kInfo : LogLine::Level::kError, status.phase,
        {{"round", fmt::to_string(status.round)}, {"digest", status.digest}, {"text", status.trouble}});
  logged_ = status;
}

void Desk::tick() {
  const std::lock_guard lock(mutex_);
  for (AttendReactor* reactor : std::vector<AttendReactor*>(attending_.begin(), attending_.end()))
    if (const std::string refused = admission_.refusal(reactor->peer().name, reactor->peer().serial);
        !refused.empty()) {
      log_refusal(reactor->peer(), "attend", "admission", refused);
      reactor->end({grpc::StatusCode::PERMISSION_DENIED, refused});
    }
  coordinator_->tick(clock_now());
  wake();
}

void Desk::end_all() {
  const std::lock_guard lock(mutex_);
  for (AttendReactor* reactor : std::vector<AttendReactor*>(attending_.begin(), attending_.end()))
    reactor->end({grpc::StatusCode::UNAVAILABLE, "the server is stopping"});
}

// A few lines a method onto the desk.
class Service final : public v1::Federation::CallbackService {
 public:
  explicit Service(Desk& desk) : desk_(desk) {}

  grpc::ServerUnaryReactor* Greet(grpc::CallbackServerContext* context, const v1::Hello* request,
                                  v1::Plan* response) override {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    const Peer peer = desk_.identify(*context);
    const wire::Hello hello = wire::from_message(*request);
    grpc::Status status;
    if (!peer.refusal.empty())
      status = {grpc::StatusCode::PERMISSION_DENIED, peer.refusal};
    else if (hello.protocol != kProtocolVersion)
      status = {grpc::StatusCode::FAILED_PRECONDITION,
                fmt::format("the server speaks protocol version {}, the node version {}", kProtocolVersion,
                            hello.protocol)};
    else if (!hello.config_digest.empty() && hello.config_digest != desk_.plan().config_digest)
      status = {grpc::StatusCode::FAILED_PRECONDITION,
                fmt::format("the server's configuration is {}, the node follows {}",
                            desk_.plan().config_digest.substr(0, 12), hello.config_digest.substr(0, 12))};
    else
      *response = wire::to_message(desk_.plan());
    if (!status.ok()) desk_.log_refusal(peer, "greet", "hello", status.error_message());
    reactor->Finish(status);
    return reactor;
  }

  grpc::ServerWriteReactor<v1::Order>* Attend(grpc::CallbackServerContext* context,
                                              const v1::Joining* request) override {
    auto* reactor = new AttendReactor(desk_, desk_.identify(*context));  // goes in OnDone
    reactor->begin(*request);
    return reactor;
  }

  grpc::ServerReadReactor<v1::UpdatePart>* Submit(grpc::CallbackServerContext* context,
                                                  v1::Verdict* response) override {
    auto* reactor = new SubmitReactor(desk_, desk_.identify(*context), context, response);  // goes in OnDone
    reactor->begin();
    return reactor;
  }

  grpc::ServerUnaryReactor* Watch(grpc::CallbackServerContext* context, const v1::WatchRequest*,
                                  v1::Status* response) override {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    const Peer peer = desk_.identify(*context);
    if (peer.refusal.empty()) {
      *response = wire::to_message(desk_.status());
      reactor->Finish(grpc::Status::OK);
    } else {
      desk_.log_refusal(peer, "watch", "admission", peer.refusal);
      reactor->Finish({grpc::StatusCode::PERMISSION_DENIED, peer.refusal});
    }
    return reactor;
  }

 private:
  Desk& desk_;
};

void raise_file_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

std::shared_ptr<grpc::ServerCredentials> credentials(const std::optional<TlsFiles>& tls) {
  if (!tls) return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions options(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = tls->authority;
  options.pem_key_cert_pairs.push_back({tls->key, tls->certificate});
  return grpc::SslServerCredentials(options);
}

class GrpcServer final : public FederationServer {
 public:
  GrpcServer(std::unique_ptr<Coordinator> coordinator, Plan plan, const ServerOptions& options)
      : desk_(std::move(coordinator), std::move(plan), options), service_(desk_) {}

  ~GrpcServer() override { stop(); }

  Result<void> begin(const ServerOptions& options) {
    constexpr int kHandshakeMs = 5'000, kKeepaliveMs = 5'000, kLeastPingMs = 2'000, kStreamsEach = 16;
    raise_file_limit();
    grpc::EnableDefaultHealthCheckService(true);
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort(options.listen, credentials(options.tls), &port);
    builder.RegisterService(&service_);
    builder.SetMaxReceiveMessageSize(static_cast<int>(2 * wire::kChunk));
    builder.SetResourceQuota(grpc::ResourceQuota("mfl").Resize(options.memory_quota));
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeMs);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveMs);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, kLeastPingMs);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kStreamsEach);
    server_ = builder.BuildAndStart();
    if (!server_ || port == 0)
      return fail(ErrorCode::kNetwork, fmt::format("cannot listen on {}", options.listen),
                  "the port may be taken or the address not this machine's; --listen names another");
    address_ = options.listen.substr(0, options.listen.rfind(':') + 1) + fmt::to_string(port);
    if (!options.metrics.empty()) {
      MFL_TRY(metrics_, serve_metrics(options.metrics, [this] { return desk_.status(); }));
    }
    ticker_ = std::thread([this] { tick(); });
    return {};
  }

  std::string address() const override { return address_; }
  FederationStatus status() const override { return desk_.status(); }
  std::optional<Error> failure() const override { return desk_.failure(); }
  std::size_t attending() const override { return desk_.attending(); }

  void stop() override {
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
      stopping_ = true;
    }
    stopped_.notify_all();
    if (ticker_.joinable()) ticker_.join();
    metrics_.reset();
    if (!server_) return;
    constexpr std::chrono::seconds kGrace{2};
    desk_.end_all();
    server_->Shutdown(std::chrono::system_clock::now() + kGrace);
    server_->Wait();
  }

 private:
  void tick() {
    constexpr std::chrono::milliseconds kBeat{50};
    std::unique_lock lock(mutex_);
    while (!stopped_.wait_for(lock, kBeat, [this] { return stopping_; })) {
      lock.unlock();
      desk_.tick();
      lock.lock();
    }
  }

  Desk desk_;
  Service service_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<MetricsEndpoint> metrics_;
  std::string address_;
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stopping_ = false;
  std::thread ticker_;
};

}  // namespace

bool is_loopback(const std::string& address) {
  const std::string host = address.substr(0, address.rfind(':'));
  return host.starts_with("127.") || host == "[::1]" || host == "localhost";
}

Result<std::unique_ptr<FederationServer>> FederationServer::start(std::unique_ptr<Coordinator> coordinator,
                                                                  Plan plan, ServerOptions options) {
  if (!options.tls && !is_loopback(options.listen))
    return fail(ErrorCode::kBadConfig,
                fmt::format("--listen {} without TLS: only loopback may be plaintext", options.listen),
                "make certificates with mfl certs and name them with --tls");
  MFL_CHECK(Admission(options.admission).check());
  auto server = std::make_unique<GrpcServer>(std::move(coordinator), std::move(plan), options);
  MFL_CHECK(server->begin(options));
  return server;
}

}  // namespace mfl
