#include "mfl/network/service.h"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>

#include <chrono>
#include <optional>
#include <utility>

#include "mfl/network/admission_list.h"
#include "mfl/network/wire.h"
#include "mfl/network/wire.pb.h"

namespace mfl {
namespace {

namespace v1 = wire::v1;
using Clock = std::chrono::steady_clock;

constexpr std::string_view kFederation = "/mfl.wire.v1.Federation/", kHealth = "/grpc.health.v1.Health/";
constexpr std::string_view kNameHeader =
    "mfl-node";  // plaintext only: there is no certificate to have a name
constexpr std::size_t kSmallMessage = 4096, kLargeMessage = 2 * wire::kChunk, kMostName = 253;
constexpr double kUsefulUpdate = 50;              // frames that a counted update is worth
constexpr double kBytesPerFrame = 512;            // of an update that was asked for
constexpr std::size_t kAhead = 2 * wire::kChunk;  // bytes of an order that are queued at a time

// As of grpc.health.v1: field 1, the status SERVING, NOT_SERVING or SERVICE_UNKNOWN.
std::string health_answer(bool known) { return known ? std::string("\x08\x01") : std::string("\x08\x03"); }

// The service that a health request names, or nothing where it is malformed.
std::optional<std::string> health_service(std::string_view request) {
  constexpr std::uint32_t kServiceTag = 0x0a;
  google::protobuf::io::CodedInputStream in(reinterpret_cast<const std::uint8_t*>(request.data()),
                                            static_cast<int>(request.size()));
  std::string name;
  std::uint32_t length = 0;
  if (request.empty()) return name;
  if (in.ReadTag() != kServiceTag || !in.ReadVarint32(&length) ||
      !in.ReadString(&name, static_cast<int>(length)))
    return std::nullopt;
  return name;
}

bool is_served(std::string_view service) { return service.empty() || service == "mfl.wire.v1.Federation"; }

MessageBytes shared(std::string bytes) { return std::make_shared<const std::string>(std::move(bytes)); }

}  // namespace

// One request, one answer.
class Service::Unary final : public CallHandler {
 public:
  using Answer = std::function<CallStatus(std::string_view request, std::string& response)>;
  explicit Unary(Answer answer) : answer_(std::move(answer)) {}

  std::size_t most_bytes() const override { return kSmallMessage; }
  void message(ServerCall& call, std::string_view bytes) override {
    if (request_) return call.finish({StatusCode::kInvalidArgument, "more than one request"});
    request_.emplace(bytes);
  }
  void ended(ServerCall& call) override {
    if (!request_) return call.finish({StatusCode::kInvalidArgument, "no request"});
    std::string response;
    const CallStatus status = answer_(*request_, response);
    if (status.ok()) call.send(shared(std::move(response)));
    call.finish(status, true);
  }

 private:
  Answer answer_;
  std::optional<std::string> request_;
};

class Service::HealthWatch final : public CallHandler {
 public:
  std::size_t most_bytes() const override { return kSmallMessage; }
  void message(ServerCall& call, std::string_view bytes) override {
    const auto service = health_service(bytes);
    if (!service) return call.finish({StatusCode::kInvalidArgument, "malformed request"});
    call.send(shared(health_answer(is_served(*service))));
  }
};

// The session's side of an Attend call: passes orders to the server's thread.
class Service::Presence final : public Attendee, public std::enable_shared_from_this<Service::Presence> {
 public:
  Presence(Service& service, CallId call, Peer peer)
      : Attendee(std::move(peer)), service_(service), call_(call) {}

  // On the server's thread, by the handler of the call; null when the call is over.
  Attend* handler = nullptr;

 private:
  void send(std::shared_ptr<Messages> order) override;
  void finish(const CallStatus& status) override {
    service_.server_->post([&service = service_, call = call_, status] {
      if (ServerCall* open = service.server_->find(call)) open->finish(status, status.ok());
    });
  }

  Service& service_;
  CallId call_;
};

class Service::Attend final : public CallHandler {
 public:
  Attend(Service& service, std::shared_ptr<Presence> presence)
      : service_(service), presence_(std::move(presence)) {
    presence_->handler = this;
  }
  ~Attend() override {
    presence_->handler = nullptr;
    if (!joined_) return;
    service_.thread_.post([presence = presence_](Session& session) { session.gone(*presence); });
  }

  std::size_t most_bytes() const override { return kLargeMessage; }

  void message(ServerCall& call, std::string_view bytes) override {
    if (std::exchange(joined_, true))
      return call.finish({StatusCode::kInvalidArgument, "more than one request"});
    auto joining = wire::decode_joining(bytes);
    const std::string& node = presence_->peer().name;
    if (const auto most = service_.max_samples_(node); joining && most && joining->weight > *most)
      return service_.refuse(
          call, node, "attend", Reason::kWeight, StatusCode::kFailedPrecondition,
          fmt::format("{} samples: the server's list admits at most {}", joining->weight, *most));
    service_.thread_.post([presence = presence_, joining = std::move(joining)](Session& session) {
      session.attend(*presence, joining);
    });
  }

  void start(ServerCall& call, std::shared_ptr<Messages> order) {
    order_ = std::move(order);
    next_ = 0;
    writable(call);
  }

  void writable(ServerCall& call) override {
    while (order_ && next_ < order_->size() && call.queued() < kAhead) call.send(order_->at(next_++));
    if (!order_ || next_ < order_->size() || call.queued() > 0) return;
    order_.reset();
    if (presence_->order_sent())
      service_.thread_.post([presence = presence_](Session& session) { session.sent(*presence); });
  }

 private:
  Service& service_;
  std::shared_ptr<Presence> presence_;
  bool joined_ = false;
  std::shared_ptr<Messages> order_;
  std::size_t next_ = 0;
};

void Service::Presence::send(std::shared_ptr<Messages> order) {
  // The call exists while its handler does; both belong to the server's thread.
  service_.server_->post([self = shared_from_this(), order = std::move(order)] {
    ServerCall* call = self->service_.server_->find(self->call_);
    if (call != nullptr && self->handler != nullptr) self->handler->start(*call, order);
  });
}

// The session's side of a Submit call.
class Service::Arriving final : public Upload {
 public:
  Arriving(Service& service, CallId call, Peer peer)
      : Upload(std::move(peer)), service_(service), call_(call) {}

 private:
  void answer(const Verdict& verdict) override {
    service_.server_->post([&service = service_, call = call_, verdict] {
      ServerCall* open = service.server_->find(call);
      if (open == nullptr) return;
      if (verdict.counts()) open->earn(kUsefulUpdate);
      open->send(shared(wire::encode(verdict)));
      open->finish({}, true);
    });
  }
  void finish(const CallStatus& status) override {
    service_.server_->post([&service = service_, call = call_, status] {
      if (ServerCall* open = service.server_->find(call)) open->finish(status);
    });
  }

  Service& service_;
  CallId call_;
};

// An update that arrives in parts. It holds no more than one State: the header is judged before the rest is taken.
class Service::Submit final : public CallHandler {
 public:
  Submit(Service& service, CallId call, std::shared_ptr<Arriving> upload)
      : service_(service), call_(call), upload_(std::move(upload)), begun_(Clock::now()) {}
  ~Submit() override {
    service_.release(call_);
    if (!known_) return;
    service_.thread_.post([upload = upload_](Session& session) { session.gone(*upload); });
  }

  std::size_t most_bytes() const override { return kLargeMessage; }

  void message(ServerCall& call, std::string_view bytes) override {
    if (judged_) return;
    const bool first = !reader_.has_header();
    if (const auto taken = reader_.take(bytes); !taken)
      return service_.refuse(call, upload_->peer().name, "submit", Reason::kProtocol,
                             StatusCode::kInvalidArgument, taken.error().text());
    call.earn(static_cast<double>(bytes.size()) / kBytesPerFrame);
    if (!first) return;
    const Ticket& ticket = reader_.header().ticket;
    const auto expected = service_.session_.expected(upload_->peer().name, ticket);
    if (!expected || reader_.size() > *expected) return judge(reader_.header());
    if (reader_.header().payload.size() == reader_.size()) return;  // this was all
    reader_.move_to(service_.session_.buffer());
    if (!service_.reserve(call_, reader_.size())) call.pause();
    known_ = true;
    service_.thread_.post([upload = upload_, ticket](Session& session) {
      session.begin(*upload);
      session.expects(*upload, ticket);
    });
  }

  void ended(ServerCall& call) override {
    if (judged_) return;
    if (!reader_.has_header())
      return call.finish({StatusCode::kInvalidArgument, "an update without a header"});
    // A truncated one is judged as it is: its shape is wrong.
    if (reader_.header().payload.size() != reader_.size()) return judge(reader_.header());
    judge(*reader_.finish());
  }

 private:
  void judge(Update update) {
    judged_ = true;
    const double seconds = std::chrono::duration<double>(Clock::now() - begun_).count();
    const bool begin = !std::exchange(known_, true);
    service_.thread_.post([upload = upload_, moved = std::make_shared<Update>(std::move(update)), seconds,
                           begin](Session& session) {
      if (begin) session.begin(*upload);
      session.submit(*upload, std::move(*moved), seconds);
    });
  }

  Service& service_;
  CallId call_;
  std::shared_ptr<Arriving> upload_;
  Clock::time_point begun_;
  wire::UpdateReader reader_;
  bool judged_ = false;
  bool known_ = false;  // to the session
};

std::unique_ptr<CallHandler> Service::open(ServerCall& call, std::string_view path) {
  const bool health = path.starts_with(kHealth);
  if (!health && !path.starts_with(kFederation)) return nullptr;
  const std::string_view method = path.substr(health ? kHealth.size() : kFederation.size());
  const auto peer = identify(call, method);
  if (!peer) return std::make_unique<Unary>(nullptr);  // the call has ended
  if (call.peer().is_this_server && !health && method != "Watch") {
    refuse(call, peer->name, method, Reason::kAdmission, StatusCode::kPermissionDenied,
           "the server's own certificate may ask for the status alone");
    return std::make_unique<Unary>(nullptr);
  }
  if (health) {
    if (method == "Watch") return std::make_unique<HealthWatch>();
    if (method != "Check") return nullptr;
    return std::make_unique<Unary>([](std::string_view request, std::string& response) -> CallStatus {
      const auto service = health_service(request);
      if (!service) return {StatusCode::kInvalidArgument, "malformed request"};
      if (!is_served(*service)) return {StatusCode::kNotFound, "unknown service"};
      response = health_answer(true);
      return {};
    });
  }
  if (method == "Greet")
    return std::make_unique<Unary>([this, peer = *peer](std::string_view request, std::string& response) {
      return greet(peer, request, response);
    });
  if (method == "Watch")
    return std::make_unique<Unary>([this, peer = *peer](std::string_view request, std::string& response) {
      return watch(peer, request, response);
    });
  if (method == "Attend")
    return std::make_unique<Attend>(*this, std::make_shared<Presence>(*this, call.id(), *peer));
  if (method == "Submit")
    return std::make_unique<Submit>(*this, call.id(), std::make_shared<Arriving>(*this, call.id(), *peer));
  return nullptr;
}

std::optional<Peer> Service::identify(ServerCall& call, std::string_view method) {
  Peer peer{call.peer().name, call.peer().serial, call.peer().certificate_expires};
  const std::string named(call.header(kNameHeader));
  std::string why;
  if (!has_tls_) {
    peer.name = named;
    if (named.empty()) why = "without TLS a node needs --name";
    if (named.size() > kMostName) why = "the name is too long";
  } else if (!named.empty() && lower_case(named) != peer.name) {
    why = fmt::format("{} calls itself {}", peer.name, named);
  }
  if (why.empty()) return peer;
  refuse(call, peer.name.substr(0, kMostName), method, Reason::kAdmission, StatusCode::kPermissionDenied,
         why);
  return std::nullopt;
}

void Service::refuse(ServerCall& call, const std::string& node, std::string_view method, Reason reason,
                     StatusCode code, const std::string& text) {
  thread_.post([node, method = std::string(method), reason, text](Session& session) {
    session.refused(node, method, reason, text);
  });
  call.finish({code, text});
}

CallStatus Service::greet(const Peer& peer, std::string_view request, std::string& response) {
  const auto refuse = [&](Reason reason, StatusCode code, std::string text) -> CallStatus {
    thread_.post(
        [node = peer.name, reason, text](Session& session) { session.refused(node, "greet", reason, text); });
    return {code, std::move(text)};
  };
  const auto hello = wire::decode_hello(request);
  if (!hello) return refuse(Reason::kProtocol, StatusCode::kInvalidArgument, hello.error().text());
  const Plan plan = session_.plan();
  if (hello->protocol != kProtocolVersion)
    return refuse(Reason::kProtocol, StatusCode::kFailedPrecondition,
                  fmt::format("the server speaks protocol version {}, the node version {}", kProtocolVersion,
                              hello->protocol));
  if (!hello->config_digest.empty() && hello->config_digest != plan.config_digest)
    return refuse(Reason::kConfig, StatusCode::kFailedPrecondition,
                  fmt::format("the server's configuration is {}, the node follows {}",
                              plan.config_digest.substr(0, 12), hello->config_digest.substr(0, 12)));
  response = wire::encode(plan);
  return {};
}

CallStatus Service::watch(const Peer& peer, std::string_view request, std::string& response) {
  v1::WatchRequest wanted;
  if (!wanted.ParseFromArray(request.data(), static_cast<int>(request.size())))
    return {StatusCode::kInvalidArgument, "malformed request"};
  response = wire::encode(session_.status(wanted.nodes()));
  thread_.post([peer, again = wanted.again()](Session& session) { session.heard(peer, again); });
  return {};
}

bool Service::reserve(CallId call, std::uint64_t bytes) {
  if (reserved_ > 0 && bytes > upload_memory_ - std::min(upload_memory_, reserved_)) {
    waiting_.emplace_back(call, bytes);
    return false;
  }
  reserved_ += bytes;
  reservations_.emplace(call, bytes);
  return true;
}

void Service::release(CallId call) {
  std::erase_if(waiting_, [&](const auto& entry) { return entry.first == call; });
  if (const auto held = reservations_.find(call); held != reservations_.end()) {
    reserved_ -= held->second;
    reservations_.erase(held);
  }
  while (!waiting_.empty()) {
    const auto [next, bytes] = waiting_.front();
    if (reserved_ > 0 && bytes > upload_memory_ - std::min(upload_memory_, reserved_)) return;
    waiting_.pop_front();
    reserved_ += bytes;
    reservations_.emplace(next, bytes);
    if (ServerCall* open = server_->find(next)) open->resume();
  }
}

}  // namespace mfl
