#include "mfl/network/desk.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "mfl/base/version.h"

namespace mfl {
namespace {

const CallEnd kStopping{CallEnd::Code::kUnavailable, "the server is stopping"};
constexpr Time kDay = std::chrono::hours{24};
constexpr Time kFarewell{2'000};  // for a write in progress when a presence is to end

Time clock_now() {
  return std::chrono::duration_cast<Time>(std::chrono::steady_clock::now().time_since_epoch());
}

std::chrono::sys_seconds unix_time(std::int64_t seconds) {
  return std::chrono::sys_seconds(std::chrono::seconds(seconds));
}

}  // namespace

Messages::Messages(Order order, const OrderCodec& codec)
    : order_(std::move(order)), codec_(codec), messages_(codec_.pieces(order_)) {}

const MessageBytes& Messages::at(std::size_t number) {
  MessageBytes& message = messages_[number];
  if (!message) message = std::make_shared<const std::string>(codec_.encode(order_, number));
  return message;
}

template <class Change>
void Desk::change(Change change) {
  Outbox out;
  {
    const std::lock_guard lock(mutex_);
    change(out);
  }
  deliver(out);
}

Desk::Desk(std::unique_ptr<Coordinator> coordinator, Plan plan, const ServerOptions& options,
           OrderCodec codec)
    : plan_(std::move(plan)),
      has_tls_(options.tls.has_value()),
      measure_(options.measure),
      nodes_(options.nodes),
      certificate_expires_(options.certificate_expires),
      codec_(codec),
      admission_(options.admission),
      coordinator_(std::move(coordinator)),
      log_(serialised(options.log)) {
  warn_of_expiry(clock_now());
  apply_lists();
}

Plan Desk::plan() const {
  Plan plan = plan_;
  const std::lock_guard lock(mutex_);
  plan.schema = coordinator_->schema();
  return plan;
}

FederationStatus Desk::status(bool with_nodes) const {
  const std::lock_guard lock(mutex_);
  return status_now(with_nodes);
}

FederationStatus Desk::status_now(bool with_nodes) const {
  FederationStatus status = coordinator_->status();
  for (std::size_t r = 0; r < status.refused.size(); ++r) status.refused[r] += refused_[r];
  status.version = version();
  status.certificate_expires = certificate_expires_;
  if (with_nodes) status.node_list = table_.list(clock_now());
  return status;
}

std::optional<Error> Desk::failure() const {
  const std::lock_guard lock(mutex_);
  return coordinator_->failure();
}

std::size_t Desk::attending() const {
  const std::lock_guard lock(mutex_);
  return attending_.size();
}

std::size_t Desk::unaware() const {
  const std::lock_guard lock(mutex_);
  return unaware_ ? unaware_->size() : 0;
}

FederationStatus Desk::watch(const Peer& peer, bool with_nodes) {
  const std::lock_guard lock(mutex_);
  if (unaware_) unaware_->erase(peer.name);
  table_.heard(clock_now(), peer.name);
  return status_now(with_nodes);
}

Measurement Desk::measured() const {
  const std::lock_guard lock(mutex_);
  return measured_;
}

std::string Desk::refusal(const Peer& peer) {
  const std::lock_guard lock(admission_mutex_);
  return admission_.refusal(peer.name, peer.serial);
}

void Desk::attend(Attendee& attendee, const Result<Joining>& joining) {
  change([&](Outbox& out) {
    const Peer& peer = attendee.peer_;
    if (closed_) return end(attendee, kStopping, out);
    if (!peer.refusal.empty()) {
      count_refusal(peer, "attend", Reason::kAdmission, peer.refusal);
      end(attendee, {CallEnd::Code::kDenied, peer.refusal}, out);
    } else if (!joining) {
      count_refusal(peer, "attend", Reason::kProtocol, joining.error().text());
      end(attendee, {CallEnd::Code::kPrecondition, joining.error().text()}, out);
    } else if (const Joined joined = coordinator_->join(clock_now(), peer.name, *joining);
               !joined.verdict.counts()) {
      log_.refused(peer.name, "attend", joined.verdict.reason, joined.verdict.text);
      end(attendee, {CallEnd::Code::kPrecondition, joined.verdict.text}, out);
    } else {
      attendee.session_ = joined.session;
      attending_.insert(&attendee);
      newcomers_ = true;
      table_.joined(clock_now(), peer.name, peer.serial, joining->weight, peer.certificate_expires);
      log_.write(LogLine::Level::kInfo, "joined",
                 {{"node", peer.name}, {"samples", fmt::to_string(joining->weight)}});
      if (peer.certificate_expires) log_.expiry(peer.name, unix_time(*peer.certificate_expires));
      send(attendee, std::make_shared<Messages>(Order{}, codec_), out);  // the empty order: it has joined
    }
    tell_all(out);
  });
}

void Desk::written(Attendee& attendee, bool ok) {
  change([&](Outbox& out) {
    --attendee.busy_;
    if (!ok) end(attendee, {CallEnd::Code::kCancelled}, out);
    if (attendee.ending_) {
      settle(attendee, out);
    } else if (++attendee.number_ < attendee.messages_->size()) {
      write(attendee, out);
    } else if (attendee.messages_->order().kind == Order::Kind::kDone) {
      end(attendee, {CallEnd::Code::kOk}, out);
    } else {
      attendee.messages_.reset();
      tell(attendee, out);
    }
  });
}

void Desk::cancelled(Attendee& attendee) {
  change([&](Outbox& out) {
    end(attendee, {CallEnd::Code::kCancelled}, out);
    depart(attendee);
    tell_all(out);
  });
}

void Desk::gone(Attendee& attendee) {
  change([&](Outbox& out) {
    attending_.erase(&attendee);
    depart(attendee);
    tell_all(out);
  });
}

bool Desk::begin(Upload& upload) {
  bool open = true;
  change([&](Outbox& out) {
    open = !closed_;
    if (!open) return;
    Upload*& current = uploads_[upload.peer_.name];
    if (current != nullptr)
      end(*current, {CallEnd::Code::kAborted, "a newer update of this node took its place"}, out);
    current = &upload;
  });
  return open;
}

std::optional<std::uint64_t> Desk::expected(const Upload& upload, const Ticket& ticket) const {
  const std::lock_guard lock(mutex_);
  return coordinator_->payload_size(upload.peer_.name, ticket);
}

std::string Desk::room() {
  const std::lock_guard lock(mutex_);
  return coordinator_->room();
}

Verdict Desk::submit(const Upload& upload, Update update, double seconds) {
  Verdict verdict{Reason::kLate, kStopping.text};
  change([&](Outbox& out) {
    if (closed_) return;
    const auto answer = measure_ ? answer_of(upload, update, seconds) : std::nullopt;
    const Time now = clock_now();
    const std::uint64_t round = update.ticket.round;
    const double loss = update.loss, compute = update.timing.compute;
    const bool closing = update.payload.empty();
    table_.heard(now, upload.peer_.name);
    verdict = coordinator_->submit(now, upload.peer_.name, std::move(update));
    if (verdict.counts() && answer) measured_.answers.push_back(*answer);
    if (verdict.counts() && !closing) table_.counted(now, upload.peer_.name, round, loss, compute);
    if (!verdict.counts()) log_.refused(upload.peer_.name, "submit", verdict.reason, verdict.text);
    tell_all(out);
  });
  return verdict;
}

bool Desk::claim(Upload& upload) {
  const std::lock_guard lock(mutex_);
  return !std::exchange(upload.finished_, true);
}

void Desk::gone(const Upload& upload) {
  const std::lock_guard lock(mutex_);
  const auto current = uploads_.find(upload.peer_.name);
  if (current != uploads_.end() && current->second == &upload) uploads_.erase(current);
}

void Desk::tick() {
  apply_lists();
  change([&](Outbox& out) {
    const Time now = clock_now();
    if (now - expiry_checked_ > kDay) warn_of_expiry(now);
    for (Attendee* attendee : attending_)
      if (attendee->ending_ && attendee->busy_ == 1 && !attendee->finished_ &&
          now - attendee->ending_since_ > kFarewell) {
        ++attendee->busy_;  // it is not to end before it has been cancelled
        out.cancels.push_back(attendee);
      }
    if (!closed_) coordinator_->tick(now);
    tell_all(out);
  });
}

void Desk::close() {
  change([&](Outbox& out) {
    closed_ = true;
    for (Attendee* attendee : attending_) end(*attendee, kStopping, out);
    for (const auto& [name, upload] : uploads_) end(*upload, kStopping, out);
  });
}

void Desk::log(LogLine::Level level, std::string event,
               std::vector<std::pair<std::string, std::string>> fields) {
  const std::lock_guard lock(mutex_);
  log_.write(level, std::move(event), std::move(fields));
}

void Desk::refuse(const Peer& peer, std::string_view call, Reason reason, std::string_view text) {
  const std::lock_guard lock(mutex_);
  count_refusal(peer, call, reason, text);
}

// An attendee in the outbox cannot go before it is served: its end needs the very call that is to be made here.
void Desk::deliver(const Outbox& out) {
  for (const auto& [attendee, message] : out.writes) attendee->start_write(message);
  for (const auto& [attendee, how] : out.ends) attendee->finish(how);
  for (const auto& [upload, how] : out.upload_ends) upload->finish(how);
  for (Attendee* attendee : out.cancels) {
    attendee->cancel();
    change([&](Outbox& more) {
      --attendee->busy_;
      settle(*attendee, more);
    });
  }
}

void Desk::send(Attendee& attendee, std::shared_ptr<Messages> messages, Outbox& out) {
  attendee.messages_ = std::move(messages);
  attendee.number_ = 0;
  write(attendee, out);
}

void Desk::write(Attendee& attendee, Outbox& out) {
  ++attendee.busy_;
  out.writes.emplace_back(&attendee, attendee.messages_->at(attendee.number_));
}

void Desk::end(Attendee& attendee, CallEnd how, Outbox& out) {
  if (attendee.ending_) return;
  attendee.ending_ = std::move(how);
  attendee.ending_since_ = clock_now();
  settle(attendee, out);
}

void Desk::end(Upload& upload, CallEnd how, Outbox& out) {
  if (std::exchange(upload.finished_, true)) return;
  out.upload_ends.emplace_back(&upload, std::move(how));
}

void Desk::settle(Attendee& attendee, Outbox& out) {
  if (!attendee.ending_ || attendee.busy_ > 0 || attendee.finished_) return;
  attendee.finished_ = true;
  out.ends.emplace_back(&attendee, *attendee.ending_);
}

void Desk::depart(Attendee& attendee) {
  if (attendee.session_ == 0 || std::exchange(attendee.departed_, true)) return;
  log_.write(LogLine::Level::kInfo, "left", {{"node", attendee.peer_.name}});
  table_.left(clock_now(), attendee.peer_.name);
  if (!closed_) coordinator_->leave(clock_now(), attendee.peer_.name, attendee.session_);
}

// What one node has not heard yet.
void Desk::tell(Attendee& attendee, Outbox& out) {
  if (attendee.busy_ > 0 || attendee.ending_) return;
  Order order = coordinator_->order_for(attendee.peer_.name, attendee.session_, attendee.last_);
  switch (order.kind) {
    case Order::Kind::kNone: return;
    case Order::Kind::kEnded:
      return end(attendee, {CallEnd::Code::kAborted, "the session has ended: join again"}, out);
    case Order::Kind::kTask:
      attendee.last_ = order.task.ticket;
      if (measure_) note_asked(attendee, order.task);
      if (!task_ || task_->order().task.ticket != order.task.ticket)
        task_ = std::make_shared<Messages>(std::move(order), codec_);
      return send(attendee, task_, out);
    case Order::Kind::kDone: return send(attendee, std::make_shared<Messages>(std::move(order), codec_), out);
  }
}

void Desk::tell_all(Outbox& out) {
  if (coordinator_->over() && !unaware_) {
    unaware_.emplace();
    for (const Attendee* attendee : attending_) unaware_->insert(attendee->peer_.name);
  }
  if (coordinator_->news() != heard_) {
    heard_ = coordinator_->news();
    for (Attendee* attendee : attending_) tell(*attendee, out);
  }
  log_.progress(coordinator_->status());
}

void Desk::apply_lists() {
  bool changed = false;
  {
    const std::lock_guard lock(admission_mutex_);
    const std::uint64_t version = admission_.version();
    changed = std::exchange(admitted_by_, version) != version;
  }
  std::vector<Peer> present;
  std::map<std::string, std::string> serials;
  {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(newcomers_, false) && !changed) return;
    for (const Attendee* attendee : attending_) present.push_back(attendee->peer_);
    serials = table_.serials();
  }
  std::map<std::pair<std::string, std::string>, std::string> refusals;
  std::optional<std::size_t> admitted;
  {
    const std::lock_guard lock(admission_mutex_);
    for (const Peer& peer : present)
      if (std::string why = admission_.refusal(peer.name, peer.serial); !why.empty())
        refusals[{peer.name, peer.serial}] = std::move(why);
    admitted = admission_.admitted(serials);
  }
  change([&](Outbox& out) {
    for (Attendee* attendee : attending_) {
      const auto refused = refusals.find({attendee->peer_.name, attendee->peer_.serial});
      if (refused == refusals.end() || attendee->ending_) continue;
      count_refusal(attendee->peer_, "attend", Reason::kAdmission, refused->second);
      end(*attendee, {CallEnd::Code::kDenied, refused->second}, out);
      depart(*attendee);
    }
    if (admitted && nodes_ != 0 && !closed_) need_nodes(*admitted);
    tell_all(out);
  });
}

void Desk::need_nodes(std::size_t admitted) {
  const std::uint64_t before = coordinator_->status().needed;
  coordinator_->set_min_available_nodes(clock_now(), std::min(nodes_, admitted));
  const std::uint64_t now = coordinator_->status().needed;
  if (now != before)
    log_.write(LogLine::Level::kInfo, "needed",
               {{"nodes", fmt::to_string(now)},
                {"text", fmt::format("the lists admit {} of {} nodes", admitted, nodes_)}});
}

void Desk::warn_of_expiry(Time now) {
  expiry_checked_ = now;
  if (certificate_expires_) log_.expiry("", unix_time(*certificate_expires_));
  for (const Attendee* attendee : attending_)
    if (const auto expires = attendee->peer_.certificate_expires)
      log_.expiry(attendee->peer_.name, unix_time(*expires));
}

void Desk::count_refusal(const Peer& peer, std::string_view call, Reason reason, std::string_view text) {
  ++refused_[static_cast<std::size_t>(reason)];
  log_.refused(peer.name, call, reason, text);
}

void Desk::note_asked(const Attendee& attendee, const Assignment& task) {
  if (task.steps == 0) return;
  if (asked_for_.ticket != task.ticket) asked_.clear();
  asked_for_ = task;
  if (asked_.insert(attendee.peer_.name).second) ++measured_.asked;
}

std::optional<MeasuredAnswer> Desk::answer_of(const Upload& upload, const Update& update,
                                              double seconds) const {
  constexpr std::size_t kMost = 1'000'000;
  if (update.ticket != asked_for_.ticket || measured_.answers.size() >= kMost) return std::nullopt;
  const double latency = update.timing.round_trip / 2;
  return MeasuredAnswer{upload.peer_.name,
                        asked_for_.steps,
                        update.weight,
                        update.timing.compute,
                        asked_for_.payload->size(),
                        update.payload.size(),
                        update.timing.down + latency,
                        seconds + latency,
                        update.timing.round_trip};
}

}  // namespace mfl
