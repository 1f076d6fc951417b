#include "mfl/network/server.h"

#include <fmt/format.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "mfl/network/address.h"
#include "mfl/network/metrics.h"
#include "mfl/network/service.h"
#include "mfl/network/session.h"
#include "mfl/network/session_thread.h"
#include "mfl/network/transport/rpc_server.h"
#include "mfl/network/transport/tls.h"
#include "mfl/network/wire.h"

namespace mfl {
namespace {

tl::unexpected<Error> not_loopback(const std::string& listen) {
  return fail(ErrorCode::kBadConfig,
              fmt::format("--listen {} without TLS: only loopback may be plaintext", listen),
              "make certificates with mfl certs and pass their folder with --tls");
}

// Two threads and a watch on files: the RpcServer's moves bytes, the SessionThread decides and commits, and the lists are read by a
// third, so that neither a slow disk nor a stalled file system keeps a peer waiting for an answer to its ping.
class NetworkServer final : public FederationServer {
 public:
  NetworkServer(std::unique_ptr<Coordinator> coordinator, Plan plan, const ServerOptions& options)
      : admission_(options.admission),
        session_(std::move(coordinator), std::move(plan), options, {wire::pieces, wire::encode_piece}),
        thread_(session_),
        service_(session_, thread_, options.tls.has_value(), options.memory_quota,
                 [this](const std::string& node) {
                   const std::lock_guard lock(admission_mutex_);
                   return admission_.max_samples(node);
                 }) {}

  ~NetworkServer() override { stop(); }

  Result<void> begin(const ServerOptions& options) {
    MFL_CHECK(admission_.check());
    RpcServerOptions rpc;
    rpc.listen = options.listen;
    rpc.tls = options.tls;
    rpc.limits.memory = options.memory_quota;
    rpc.limits.connections = options.max_connections;
    rpc.refusal = [this](const RpcPeer& peer) {
      const std::lock_guard lock(admission_mutex_);
      return admission_.refusal(peer.name, peer.serial);
    };
    rpc.open = [this](ServerCall& call, std::string_view path) { return service_.open(call, path); };
    rpc.report = [this](const RpcPeer& peer, std::string_view what, std::string_view text) {
      report(peer, what, text);
    };
    rpc.failed_handshakes = [this](const std::string& address, const std::string& why, std::uint64_t count) {
      thread_.post(
          [address, why, count](Session& session) { session.failed_handshakes(address, why, count); });
    };
    MFL_TRY(rpc_, RpcServer::open(std::move(rpc)));
    if (!options.tls && !rpc_->on_loopback()) return not_loopback(options.listen);
    if (!options.metrics.empty()) {
      MFL_TRY(metrics_, serve_metrics(options.metrics, [this] { return session_.status(true); }));
    }
    service_.serve_on(*rpc_);
    rpc_->serve();
    lists_ = std::thread([this] { follow_lists(); });
    return {};
  }

  std::string address() const override { return rpc_->address(); }
  FederationStatus status(bool with_nodes) const override { return session_.status(with_nodes); }
  std::optional<Error> failure() const override { return session_.failure(); }
  std::size_t attending() const override { return session_.attending(); }
  std::size_t unaware() const override { return session_.unaware(); }
  Measurement measured() const override { return session_.measured(); }

  void close() override {
    if (rpc_) rpc_->stop_listening();
    thread_.post([](Session& session) { session.close(); });
    thread_.wait();
  }

  void stop() override {
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
      stopping_ = true;
    }
    stopped_.notify_all();
    if (lists_.joinable()) lists_.join();
    close();
    metrics_.reset();
    if (rpc_) rpc_->stop();
    thread_.stop();
  }

 private:
  void report(const RpcPeer& peer, std::string_view what, std::string_view text) {
    thread_.post([name = peer.name, what = std::string(what), text = std::string(text)](Session& session) {
      if (what == "refused")
        session.refused(name, "connect", Reason::kAdmission, text);
      else
        session.log(LogLine::Level::kWarning, what, {{"node", name}, {"text", text}});
    });
  }

  void follow_lists() {
    constexpr std::chrono::milliseconds kBeat{200};
    std::uint64_t seen = 0;  // the first look reports the lines that are not used
    std::map<std::string, std::string> serials;
    std::unique_lock lock(mutex_);
    do {
      lock.unlock();
      auto now = session_.serials();
      std::optional<std::size_t> admitted;
      std::optional<std::map<std::string, std::string>> barred;
      bool changed = false;
      std::vector<ListWarning> warnings;
      {
        const std::lock_guard files(admission_mutex_);
        const std::uint64_t version = admission_.refresh();
        changed = std::exchange(seen, version) != version;
        if (changed) warnings = admission_.warnings();
        if (changed || now != serials) {
          admitted = admission_.admitted(now);
          barred = std::map<std::string, std::string>();
          for (const auto& [name, serial] : now)
            if (std::string word = admission_.standing(name, serial); !word.empty())
              barred->emplace(name, std::move(word));
        }
      }
      serials = std::move(now);
      if (changed) rpc_->recheck();
      for (const ListWarning& warning : warnings)
        thread_.post([warning](Session& session) {
          session.log(
              LogLine::Level::kWarning, "list",
              {{"file", warning.file}, {"line", fmt::to_string(warning.line)}, {"text", warning.text}});
        });
      if (barred) thread_.post([names = *std::move(barred)](Session& session) { session.barred(names); });
      if (admitted) thread_.post([admitted](Session& session) { session.admitted(*admitted); });
      lock.lock();
    } while (!stopped_.wait_for(lock, kBeat, [this] { return stopping_; }));
  }

  std::mutex admission_mutex_;
  Admission admission_;
  Session session_;
  SessionThread thread_;
  Service service_;
  std::unique_ptr<RpcServer> rpc_;
  std::unique_ptr<PageServer> metrics_;
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stopping_ = false;
  std::thread lists_;
};

}  // namespace

Result<std::unique_ptr<FederationServer>> FederationServer::start(std::unique_ptr<Coordinator> coordinator,
                                                                  Plan plan, ServerOptions options) {
  if (!options.tls) {  // before anything is logged; the sockets themselves decide in begin()
    MFL_TRY(const Address address, parse_address("--listen", options.listen, PortZero::kAnyFree));
    if (!resolves_to_loopback(address).value_or(true)) return not_loopback(options.listen);
  }
  if (options.tls) MFL_CHECK(check_identity(*options.tls, CertificateFacts::Role::kServer));
  if (options.tls)
    if (const auto facts = read_certificate(options.tls->certificate))
      options.certificate_expires = facts->expires.time_since_epoch().count();
  auto server = std::make_unique<NetworkServer>(std::move(coordinator), std::move(plan), options);
  MFL_CHECK(server->begin(options));
  return server;
}

}  // namespace mfl
