#include "mfl/network/client.h"

#include <fmt/core.h>

#include <utility>

#include "mfl/network/address.h"
#include "mfl/network/transport/rpc_client.h"
#include "mfl/network/wire.h"
#include "mfl/network/wire.pb.h"

namespace mfl {
namespace {

namespace v1 = wire::v1;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kCallPatience{20};  // for a short answer

bool is_final(StatusCode code) {
  switch (code) {
    case StatusCode::kPermissionDenied:
    case StatusCode::kUnauthenticated:
    case StatusCode::kFailedPrecondition:
    case StatusCode::kInvalidArgument:
    case StatusCode::kUnimplemented: return true;
    default: return false;
  }
}

class NetworkClient final : public FederationClient {
 public:
  NetworkClient(const ClientOptions& options, std::unique_ptr<RpcClient> rpc)
      : options_(options), rpc_(std::move(rpc)) {}

  ~NetworkClient() override { close_presence(); }

  Answer<Plan> greet(const std::string& config_digest) override {
    const auto response = unary("Greet", wire::encode(wire::Hello{kProtocolVersion, config_digest}));
    if (!response) return tl::unexpected(response.error());
    return checked(wire::decode_plan(*response));
  }

  Answer<void> attend(const Joining& joining, std::uint64_t max_payload) override {
    close_presence();
    orders_.emplace(max_payload);
    presence_ = open("Attend", wire::encode(joining), std::nullopt);
    if (presence_ < 0) return tl::unexpected(failure(rpc_->failure()));
    if (!rpc_->read(presence_, std::nullopt)) return tl::unexpected(ended());
    return {};
  }

  Answer<Order> next_order() override {
    for (;;) {
      if (presence_ < 0) return Order{Order::Kind::kEnded, {}, {}, {}};
      auto message = rpc_->read(presence_, std::nullopt, std::move(room_));
      if (!message) {
        CallError error = ended();
        if (error.final) return tl::unexpected(std::move(error));
        return Order{Order::Kind::kEnded, {}, error.error.text(), {}};
      }
      auto order = checked(orders_->take(*message));
      room_ = *std::move(message);
      if (orders_->began()) task_began_ = Clock::now();
      if (order && order->kind == Order::Kind::kTask)
        arrival_seconds_ = std::chrono::duration<double>(Clock::now() - task_began_).count();
      if (!order || order->kind != Order::Kind::kNone) return order;
    }
  }

  double arrival_seconds() const override { return arrival_seconds_; }

  Answer<Verdict> submit(const Update& update) override {
    const auto deadline = Clock::now() + upload_patience(update.payload.size());
    const StreamId call = rpc_->open(path("Submit"), deadline);
    if (call < 0) return tl::unexpected(failure(rpc_->failure()));
    for (std::size_t i = 0; i < wire::pieces(update); ++i)
      if (!rpc_->send(
              call, [&](std::string& part) { wire::append_piece(part, update, i); }, deadline))
        break;  // the server has said what it has to say
    const auto response = answer(call, deadline);
    if (!response) return tl::unexpected(response.error());
    return checked(wire::decode_verdict(*response));
  }

  Answer<FederationStatus> watch(bool with_nodes, bool again) override {
    v1::WatchRequest request;
    request.set_again(again);
    request.set_nodes(with_nodes);
    const auto response = unary("Watch", request.SerializeAsString());
    if (!response) return tl::unexpected(response.error());
    return checked(wire::decode_status(*response));
  }

  const std::string& server_certificate() const override { return rpc_->server_certificate(); }

  void cancel() override { rpc_->cancel(); }

 private:
  static std::string path(std::string_view method) {
    return fmt::format("/mfl.wire.v1.Federation/{}", method);
  }

  // A call with one request.
  StreamId open(std::string_view method, std::string request, RpcClient::Deadline deadline) {
    const StreamId call = rpc_->open(path(method), deadline);
    if (call < 0) return call;
    (void)rpc_->send(call, std::make_shared<const std::string>(std::move(request)), deadline);
    rpc_->end(call);
    return call;
  }

  // The one answer of a call whose requests were sent.
  Answer<std::string> answer(StreamId call, RpcClient::Deadline deadline) {
    rpc_->end(call);
    auto response = rpc_->read(call, deadline);
    const CallStatus status = rpc_->finish(call, deadline);
    if (!status.ok()) return tl::unexpected(failure(status));
    if (!response) return tl::unexpected(failure({StatusCode::kInternal, "the server gave no answer"}));
    return *std::move(response);
  }

  Answer<std::string> unary(std::string_view method, std::string request) {
    const auto deadline = Clock::now() + kCallPatience;
    const StreamId call = open(method, std::move(request), deadline);
    if (call < 0) return tl::unexpected(failure(rpc_->failure()));
    return answer(call, deadline);
  }

  CallError failure(const CallStatus& status) const {
    return {{ErrorCode::kNetwork, fmt::format("{}: {}", options_.server, status.text),
             status.code == StatusCode::kFailedPrecondition
                 ? "change this node's data or flags, or the server's experiment file"
                 : "check the server's address, its log and the certificates",
             nullptr},
            is_final(status.code)};
  }

  template <class T>
  static Answer<T> checked(Result<T> decoded) {
    if (decoded) return *std::move(decoded);
    return tl::unexpected(CallError{std::move(decoded).error(), true});
  }

  CallError ended() {
    const CallStatus status = rpc_->finish(std::exchange(presence_, -1), std::nullopt);
    return failure(status.ok() ? CallStatus{StatusCode::kUnavailable, "the server ended the session"}
                               : status);
  }

  void close_presence() {
    if (presence_ >= 0) rpc_->abandon(std::exchange(presence_, -1));
  }

  ClientOptions options_;
  std::unique_ptr<RpcClient> rpc_;
  StreamId presence_ = -1;
  std::optional<wire::OrderReader> orders_;
  std::string room_;  // of the last message
  Clock::time_point task_began_;
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
  if (!options.tls) {  // the socket's real address is looked at again when it connects
    const auto local = resolves_to_loopback(*parse_address("--server", options.server, PortZero::kRefused));
    if (!local.value_or(false))
      return fail(ErrorCode::kBadConfig,
                  fmt::format("--server {} without TLS: only loopback may be plaintext", options.server),
                  "name a folder made by mfl certs with --tls");
  }
  RpcClientOptions rpc{options.server, options.tls, {}, 2 * wire::kChunk};
  if (!options.name.empty()) rpc.metadata.emplace_back("mfl-node", options.name);
  MFL_TRY(auto client, RpcClient::make(std::move(rpc)));
  return std::make_unique<NetworkClient>(options, std::move(client));
}

}  // namespace mfl
