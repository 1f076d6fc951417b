#include "mfl/network/client.h"

#include <fmt/core.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/security/credentials.h>

#include <mutex>
#include <utility>

#include "mfl/network/address.h"
#include "mfl/network/server.h"
#include "mfl/network/wire.grpc.pb.h"
#include "mfl/network/wire.h"

namespace mfl {
namespace {

namespace v1 = wire::v1;

constexpr std::chrono::seconds kCallPatience{20};  // for a short answer

bool is_final(grpc::StatusCode code) {
  switch (code) {
    case grpc::StatusCode::PERMISSION_DENIED:
    case grpc::StatusCode::UNAUTHENTICATED:
    case grpc::StatusCode::FAILED_PRECONDITION:
    case grpc::StatusCode::INVALID_ARGUMENT:
    case grpc::StatusCode::UNIMPLEMENTED: return true;
    default: return false;
  }
}

std::shared_ptr<grpc::ChannelCredentials> credentials(const std::optional<TlsFiles>& tls) {
  if (!tls) return grpc::InsecureChannelCredentials();
  return grpc::SslCredentials({tls->authority, tls->key, tls->certificate});
}

std::shared_ptr<grpc::Channel> open_channel(const ClientOptions& options) {
  constexpr int kKeepaliveMs = 5'000, kBackoffMs = 100, kLongestBackoffMs = 2'000;
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kBackoffMs);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kLongestBackoffMs);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // no memory of earlier failures
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetMaxReceiveMessageSize(static_cast<int>(2 * wire::kChunk));
  return grpc::CreateCustomChannel(options.server, credentials(options.tls), arguments);
}

class GrpcClient final : public FederationClient {
 public:
  explicit GrpcClient(const ClientOptions& options)
      : options_(options), stub_(v1::Federation::NewStub(open_channel(options))) {}

  ~GrpcClient() override { close_presence(); }

  Answer<Plan> greet(const std::string& config_digest) override {
    Call call(*this, kCallPatience);
    v1::Plan plan;
    const auto status =
        stub_->Greet(&call.context, wire::to_message(wire::Hello{kProtocolVersion, config_digest}), &plan);
    if (!status.ok()) return failure(status);
    if (const auto auth = call.context.auth_context())
      for (const auto& certificate : auth->FindPropertyValues("x509_pem_cert"))
        server_certificate_.assign(certificate.data(), certificate.size());
    return checked(wire::from_message(plan));
  }

  Answer<void> attend(const Joining& joining, std::uint64_t max_payload) override {
    close_presence();
    presence_ = std::make_unique<Call>(*this, std::nullopt);
    orders_.emplace(max_payload);
    reader_ = stub_->Attend(&presence_->context, wire::to_message(joining));
    v1::Order first;
    if (!reader_->Read(&first)) return tl::unexpected(ended());
    return {};
  }

  Answer<Order> next_order() override {
    if (!reader_) return Order{Order::Kind::kEnded, {}, {}, {}};
    v1::Order message;
    for (;;) {
      const bool got = reader_->Read(&message);
      if (message.has_task()) task_began_ = std::chrono::steady_clock::now();
      if (!got) {
        CallError error = ended();
        if (error.final) return tl::unexpected(std::move(error));
        return Order{Order::Kind::kEnded, {}, error.error.text(), {}};
      }
      auto order = checked(orders_->take(message));
      if (order && order->kind == Order::Kind::kTask)
        arrival_seconds_ =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - task_began_).count();
      if (!order || order->kind != Order::Kind::kNone) return order;
    }
  }

  double arrival_seconds() const override { return arrival_seconds_; }

  Answer<Verdict> submit(const Update& update) override {
    Call call(*this, upload_patience(update.payload.size()));
    v1::Verdict verdict;
    const auto writer = stub_->Submit(&call.context, &verdict);
    for (std::size_t i = 0; i < wire::pieces(update); ++i)
      if (!writer->Write(wire::piece(update, i))) break;  // the server has said what it has to say
    writer->WritesDone();
    const auto status = writer->Finish();
    if (!status.ok()) return failure(status);
    return checked(wire::from_message(verdict));
  }

  Answer<FederationStatus> watch(bool with_nodes) override {
    Call call(*this, kCallPatience);
    v1::WatchRequest request;
    request.set_nodes(with_nodes);
    v1::Status status;
    const auto answered = stub_->Watch(&call.context, request, &status);
    if (!answered.ok()) return failure(answered);
    return wire::from_message(status);
  }

  const std::string& server_certificate() const override { return server_certificate_; }

  void cancel() override {
    const std::lock_guard lock(mutex_);
    cancelled_ = true;
    for (grpc::ClientContext* context : open_) context->TryCancel();
  }

 private:
  // A context that cancel() reaches.
  struct Call {
    Call(GrpcClient& owner, std::optional<std::chrono::seconds> patience) : client(owner) {
      if (patience) context.set_deadline(std::chrono::system_clock::now() + *patience);
      if (!client.options_.name.empty()) context.AddMetadata("mfl-node", client.options_.name);
      const std::lock_guard lock(client.mutex_);
      client.open_.push_back(&context);
      if (client.cancelled_) context.TryCancel();
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    ~Call() {
      const std::lock_guard lock(client.mutex_);
      std::erase(client.open_, &context);
    }
    GrpcClient& client;
    grpc::ClientContext context;
  };

  tl::unexpected<CallError> failure(const grpc::Status& status) const {
    return tl::unexpected(
        CallError{{ErrorCode::kNetwork, fmt::format("{}: {}", options_.server, status.error_message()),
                   status.error_code() == grpc::StatusCode::FAILED_PRECONDITION
                       ? "change this node's data or flags, or the server's experiment file"
                       : "check the server's address, its log and the certificates",
                   nullptr},
                  is_final(status.error_code())});
  }

  template <class T>
  static Answer<T> checked(Result<T> decoded) {
    if (decoded) return *std::move(decoded);
    return tl::unexpected(CallError{std::move(decoded).error(), true});
  }

  CallError ended() {
    const auto status = reader_->Finish();
    reader_.reset();
    presence_.reset();
    return failure(status).value();
  }

  void close_presence() {
    if (!reader_) return;
    presence_->context.TryCancel();
    v1::Order ignored;
    while (reader_->Read(&ignored)) {
    }
    (void)ended();
  }

  ClientOptions options_;
  std::unique_ptr<v1::Federation::Stub> stub_;
  std::string server_certificate_;
  std::mutex mutex_;
  bool cancelled_ = false;
  std::vector<grpc::ClientContext*> open_;
  std::unique_ptr<Call> presence_;
  std::unique_ptr<grpc::ClientReader<v1::Order>> reader_;
  std::optional<wire::OrderReader> orders_;
  std::chrono::steady_clock::time_point task_began_;
  double arrival_seconds_ = 0;
};

}  // namespace

std::chrono::seconds upload_patience(std::uint64_t bytes) {
  constexpr std::chrono::seconds kLeast{600};
  constexpr std::uint64_t kSlowestLine = 8 * 1024;  // bytes per second
  return kLeast + std::chrono::seconds(bytes / kSlowestLine);
}

Result<std::unique_ptr<FederationClient>> FederationClient::make(const ClientOptions& options) {
  MFL_CHECK(parse_address("--server", options.server, PortZero::kRefused));
  if (!options.tls && !is_loopback(options.server))
    return fail(ErrorCode::kBadConfig,
                fmt::format("--server {} without TLS: only loopback may be plaintext", options.server),
                "name a folder made by mfl certs with --tls");
  return std::make_unique<GrpcClient>(options);
}

}  // namespace mfl
