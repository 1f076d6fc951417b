#include "mfl/network/server.h"

#include <fmt/format.h>
#include <grpcpp/ext/health_check_service_server_builder_option.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/security/server_credentials.h>

#include <algorithm>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <thread>

#include "mfl/network/desk.h"
#include "mfl/network/listener.h"
#include "mfl/network/metrics.h"
#include "mfl/network/service.h"
#include "mfl/network/wire.h"

namespace mfl {
namespace {

using grpc::experimental::ExternalConnectionAcceptor;

std::shared_ptr<grpc::ServerCredentials> credentials(const std::optional<TlsFiles>& tls) {
  if (!tls) return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions options(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = tls->authority;
  options.pem_key_cert_pairs.push_back({tls->key, tls->certificate});
  return grpc::SslServerCredentials(options);
}

// Numbers of descriptors from which on a connection is turned away.
int most_files(std::uint64_t max_connections) {
  const int allowed = raise_file_limit();
  if (max_connections == 0) return allowed;
  constexpr std::uint64_t kMost = std::numeric_limits<int>::max() / 2;
  return std::min(allowed, open_files() + static_cast<int>(std::min(max_connections, kMost)));
}

class GrpcServer final : public FederationServer {
 public:
  GrpcServer(std::unique_ptr<Coordinator> coordinator, Plan plan, const ServerOptions& options)
      : desk_(std::move(coordinator), std::move(plan), options, {wire::pieces, wire::encode_piece}),
        service_(make_service(desk_)) {}

  ~GrpcServer() override { stop(); }

  Result<void> begin(const ServerOptions& options) {
    MFL_TRY(listener_, Listener::open(options.listen));
    grpc::EnableDefaultHealthCheckService(true);
    grpc::ServerBuilder builder;
    set_limits(builder, options.memory_quota);
    builder.RegisterService(service_.get());
    acceptor_ = builder.experimental().AddExternalConnectionAcceptor(
        grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD, credentials(options.tls));
    server_ = builder.BuildAndStart();
    if (!server_) return fail(ErrorCode::kNetwork, "cannot start the gRPC server", "check the certificates");
    if (!options.metrics.empty()) {
      MFL_TRY(metrics_, serve_metrics(options.metrics, [this] { return desk_.status(true); }));
    }
    listener_->serve(most_files(options.max_connections), [this](int from, int connection) {
      ExternalConnectionAcceptor::NewConnectionParameters parameters;
      parameters.listener_fd = from;
      parameters.fd = connection;
      acceptor_->HandleNewConnection(&parameters);
    });
    ticker_ = std::thread([this] { tick(); });
    return {};
  }

  std::string address() const override { return listener_->address(); }
  FederationStatus status(bool with_nodes) const override { return desk_.status(with_nodes); }
  std::optional<Error> failure() const override { return desk_.failure(); }
  std::size_t attending() const override { return desk_.attending(); }
  std::size_t unaware() const override { return desk_.unaware(); }
  Measurement measured() const override { return desk_.measured(); }

  void close() override {
    if (listener_) listener_->stop();
    desk_.close();
  }

  void stop() override {
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
      stopping_ = true;
    }
    stopped_.notify_all();
    if (ticker_.joinable()) ticker_.join();
    close();
    metrics_.reset();
    if (!server_) return;
    constexpr std::chrono::milliseconds kGrace{500};
    server_->Shutdown(std::chrono::system_clock::now() + kGrace);
    server_->Wait();
  }

 private:
  static void set_limits(grpc::ServerBuilder& builder, std::uint64_t memory_quota) {
    constexpr int kHandshakeMs = 4'500, kKeepaliveMs = 5'000, kLeastPingMs = 2'000, kStreamsEach = 16;
    constexpr int kIdleMs = 60'000;
    builder.SetMaxReceiveMessageSize(static_cast<int>(2 * wire::kChunk));
    builder.SetResourceQuota(grpc::ResourceQuota("mfl").Resize(memory_quota));
    builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeMs);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveMs);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, kLeastPingMs);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kStreamsEach);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, kIdleMs);
  }

  void tick() {
    constexpr std::chrono::milliseconds kBeat{50};
    std::uint64_t turned_away = 0;
    std::unique_lock lock(mutex_);
    while (!stopped_.wait_for(lock, kBeat, [this] { return stopping_; })) {
      lock.unlock();
      desk_.tick();
      if (const std::uint64_t now = listener_->turned_away(); now != turned_away) {
        desk_.log(LogLine::Level::kWarning, "full",
                  {{"text", fmt::format("too many connections: {} closed so far", now)}});
        turned_away = now;
      }
      lock.lock();
    }
  }

  Desk desk_;
  std::unique_ptr<grpc::Service> service_;
  std::unique_ptr<ExternalConnectionAcceptor> acceptor_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<Listener> listener_;
  std::unique_ptr<MetricsEndpoint> metrics_;
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
                "make certificates with mfl certs and pass their folder with --tls");
  MFL_CHECK(Admission(options.admission).check());
  if (options.tls)
    if (const auto facts = read_certificate(options.tls->certificate))
      options.certificate_expires = facts->expires.time_since_epoch().count();
  auto server = std::make_unique<GrpcServer>(std::move(coordinator), std::move(plan), options);
  MFL_CHECK(server->begin(options));
  return server;
}

}  // namespace mfl
