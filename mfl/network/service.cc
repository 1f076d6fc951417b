#include "mfl/network/service.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <utility>

#include "mfl/network/certs.h"
#include "mfl/network/wire.grpc.pb.h"
#include "mfl/network/wire.h"

namespace mfl {
namespace {

namespace v1 = wire::v1;

constexpr const char* kNameHeader = "mfl-node";  // plaintext only: there is no certificate to have a name

std::string to_string(grpc::string_ref text) { return {text.data(), text.size()}; }

Peer identify(Desk& desk, const grpc::CallbackServerContext& context) {
  Peer peer;
  const auto named = context.client_metadata().find(kNameHeader);
  const bool has_name = named != context.client_metadata().end();
  if (!desk.has_tls()) {
    if (has_name) peer.name = to_string(named->second);
    if (peer.name.empty()) peer.refusal = "without TLS a node needs --name";
  } else {
    const auto auth = context.auth_context();
    const auto names = auth->FindPropertyValues("x509_subject_alternative_name");
    if (names.size() == 1) peer.name = to_string(names[0]);
    if (names.size() != 1) peer.refusal = "the certificate must have one name";
    if (has_name && to_string(named->second) != peer.name)
      peer.refusal = fmt::format("{} calls itself {}", peer.name, to_string(named->second));
    const auto certificate = auth->FindPropertyValues("x509_pem_cert");
    if (const auto facts = read_certificate(certificate.empty() ? "" : to_string(certificate[0]))) {
      peer.serial = facts->serial;
      peer.certificate_expires = facts->expires.time_since_epoch().count();
    }
  }
  if (peer.refusal.empty()) peer.refusal = desk.refusal(peer);
  return peer;
}

grpc::Status to_status(const CallEnd& end) {
  switch (end.code) {
    case CallEnd::Code::kOk: return grpc::Status::OK;
    case CallEnd::Code::kCancelled: return grpc::Status::CANCELLED;
    case CallEnd::Code::kDenied: return {grpc::StatusCode::PERMISSION_DENIED, end.text};
    case CallEnd::Code::kPrecondition: return {grpc::StatusCode::FAILED_PRECONDITION, end.text};
    case CallEnd::Code::kAborted: return {grpc::StatusCode::ABORTED, end.text};
    case CallEnd::Code::kUnavailable: break;
  }
  return {grpc::StatusCode::UNAVAILABLE, end.text};
}

// Shares the bytes: gRPC drops its reference when the last copy of the buffer has been sent.
grpc::ByteBuffer to_buffer(MessageBytes message) {
  auto* kept = new MessageBytes(std::move(message));
  const grpc::Slice slice(
      const_cast<char*>((*kept)->data()), (*kept)->size(),
      [](void* owner) { delete static_cast<MessageBytes*>(owner); }, kept);
  return {&slice, 1};
}

// A node's presence. Deletes itself in OnDone.
class AttendReactor final : public grpc::ServerWriteReactor<grpc::ByteBuffer>, public Attendee {
 public:
  AttendReactor(Desk& desk, Peer peer, grpc::CallbackServerContext* context)
      : Attendee(std::move(peer)), desk_(desk), context_(context) {}

  void OnWriteDone(bool ok) override { desk_.written(*this, ok); }
  void OnCancel() override { desk_.cancelled(*this); }
  void OnDone() override {
    desk_.gone(*this);
    delete this;
  }

 private:
  void start_write(MessageBytes message) override {
    buffer_ = to_buffer(std::move(message));
    StartWrite(&buffer_);
  }
  void finish(const CallEnd& end) override { Finish(to_status(end)); }
  void cancel() override { context_->TryCancel(); }

  Desk& desk_;
  grpc::ByteBuffer buffer_;  // of the write in progress
  grpc::CallbackServerContext* context_;
};

// An update that comes in parts. Holds no more than one State: the header is judged before the rest is taken. Deletes
// itself in OnDone.
class SubmitReactor final : public grpc::ServerReadReactor<v1::UpdatePart>, public Upload {
 public:
  SubmitReactor(Desk& desk, Peer peer, grpc::CallbackServerContext* context, v1::Verdict* response)
      : Upload(std::move(peer)), desk_(desk), context_(context), response_(response) {}

  void begin() {
    if (!peer().refusal.empty()) {
      desk_.refuse(peer(), "submit", Reason::kAdmission, peer().refusal);
      return close({grpc::StatusCode::PERMISSION_DENIED, peer().refusal});
    }
    if (!desk_.begin(*this)) return close({grpc::StatusCode::UNAVAILABLE, "the server is stopping"});
    begun_ = Clock::now();
    StartRead(&part_);
  }

  void OnReadDone(bool ok) override {
    if (!ok) return context_->IsCancelled() ? close(grpc::Status::CANCELLED) : conclude();
    const bool first = !reader_.has_header();
    if (const auto taken = reader_.take(part_); !taken) {
      desk_.refuse(peer(), "submit", Reason::kProtocol, taken.error().text());
      return close({grpc::StatusCode::INVALID_ARGUMENT, taken.error().text()});
    }
    if (first) {
      if (desk_.expected(*this, reader_.header().ticket) != reader_.size()) return judge(reader_.header());
      reader_.move_to(desk_.room());
    }
    StartRead(&part_);
  }

  void OnCancel() override { close(grpc::Status::CANCELLED); }
  void OnDone() override {
    desk_.gone(*this);
    delete this;
  }

 private:
  using Clock = std::chrono::steady_clock;

  void conclude() {
    if (!reader_.has_header())
      return close({grpc::StatusCode::INVALID_ARGUMENT, "an update without a header"});
    // A truncated one is judged as it is: its shape is wrong.
    if (reader_.header().payload.size() != reader_.size()) return judge(reader_.header());
    judge(*reader_.finish());
  }

  void judge(Update update) {
    const Verdict verdict =
        desk_.submit(*this, std::move(update), std::chrono::duration<double>(Clock::now() - begun_).count());
    if (!desk_.claim(*this)) return;
    *response_ = wire::to_message(verdict);
    Finish(grpc::Status::OK);
  }

  void finish(const CallEnd& end) override { Finish(to_status(end)); }
  void close(const grpc::Status& status) {
    if (desk_.claim(*this)) Finish(status);
  }

  Desk& desk_;
  grpc::CallbackServerContext* context_;
  v1::Verdict* response_;
  Clock::time_point begun_;
  v1::UpdatePart part_;
  wire::UpdateReader reader_;
};

std::string to_string(const grpc::ByteBuffer& message) {
  grpc::Slice whole;
  if (!message.DumpToSingleSlice(&whole).ok()) return {};
  return {reinterpret_cast<const char*>(whole.begin()), whole.size()};
}

// Orders go out as bytes that are the same for all nodes; everything else is left to the generated code.
using ServiceBase = v1::Federation::WithCallbackMethod_Greet<
    v1::Federation::WithRawCallbackMethod_Attend<v1::Federation::WithCallbackMethod_Submit<
        v1::Federation::WithCallbackMethod_Watch<v1::Federation::Service>>>>;

class Service final : public ServiceBase {
 public:
  explicit Service(Desk& desk) : desk_(desk) {}

  grpc::ServerUnaryReactor* Greet(grpc::CallbackServerContext* context, const v1::Hello* request,
                                  v1::Plan* response) override {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    const Peer peer = identify(desk_, *context);
    const wire::Hello hello = wire::from_message(*request);
    const Plan plan = desk_.plan();
    grpc::Status status;
    const auto refuse = [&](Reason reason, grpc::StatusCode code, const std::string& text) {
      desk_.refuse(peer, "greet", reason, text);
      status = {code, text};
    };
    if (!peer.refusal.empty())
      refuse(Reason::kAdmission, grpc::StatusCode::PERMISSION_DENIED, peer.refusal);
    else if (hello.protocol != kProtocolVersion)
      refuse(Reason::kProtocol, grpc::StatusCode::FAILED_PRECONDITION,
             fmt::format("the server speaks protocol version {}, the node version {}", kProtocolVersion,
                         hello.protocol));
    else if (!hello.config_digest.empty() && hello.config_digest != plan.config_digest)
      refuse(Reason::kConfig, grpc::StatusCode::FAILED_PRECONDITION,
             fmt::format("the server's configuration is {}, the node follows {}",
                         plan.config_digest.substr(0, 12), hello.config_digest.substr(0, 12)));
    else
      *response = wire::to_message(plan);
    reactor->Finish(status);
    return reactor;
  }

  grpc::ServerWriteReactor<grpc::ByteBuffer>* Attend(grpc::CallbackServerContext* context,
                                                     const grpc::ByteBuffer* request) override {
    auto* reactor = new AttendReactor(desk_, identify(desk_, *context), context);
    desk_.attend(*reactor, wire::decode_joining(to_string(*request)));
    return reactor;
  }

  grpc::ServerReadReactor<v1::UpdatePart>* Submit(grpc::CallbackServerContext* context,
                                                  v1::Verdict* response) override {
    auto* reactor = new SubmitReactor(desk_, identify(desk_, *context), context, response);
    reactor->begin();
    return reactor;
  }

  grpc::ServerUnaryReactor* Watch(grpc::CallbackServerContext* context, const v1::WatchRequest* request,
                                  v1::Status* response) override {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    const Peer peer = identify(desk_, *context);
    if (peer.refusal.empty()) {
      *response = wire::to_message(desk_.watch(peer, request->nodes()));
      reactor->Finish(grpc::Status::OK);
    } else {
      desk_.refuse(peer, "watch", Reason::kAdmission, peer.refusal);
      reactor->Finish({grpc::StatusCode::PERMISSION_DENIED, peer.refusal});
    }
    return reactor;
  }

 private:
  Desk& desk_;
};

}  // namespace

std::unique_ptr<grpc::Service> make_service(Desk& desk) { return std::make_unique<Service>(desk); }

}  // namespace mfl
