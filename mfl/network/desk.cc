#include "mfl/network/desk.h"

#include <fmt/format.h>

#include <chrono>

#include "mfl/network/wire.h"

namespace mfl {
namespace {

constexpr Time kFarewell{2'000};  // for a write under way when a presence is to end

Time clock_now() {
  return std::chrono::duration_cast<Time>(std::chrono::steady_clock::now().time_since_epoch());
}

}  // namespace

Desk::Desk(std::unique_ptr<Coordinator> coordinator, Plan plan, const ServerOptions& options)
    : plan_(std::move(plan)),
      has_tls_(options.tls.has_value()),
      measure_(options.measure),
      log_(options.log),
      coordinator_(std::move(coordinator)),
      admission_(options.admission) {}

FederationStatus Desk::status() const {
  const std::lock_guard lock(mutex_);
  return coordinator_->status();
}

std::optional<Error> Desk::failure() const {
  const std::lock_guard lock(mutex_);
  return coordinator_->failure();
}

std::size_t Desk::attending() const {
  const std::lock_guard lock(mutex_);
  return attending_.size();
}

Measurement Desk::measured() const {
  const std::lock_guard lock(mutex_);
  return measured_;
}

std::string Desk::refusal(const Peer& peer) {
  const std::lock_guard lock(mutex_);
  return admission_.refusal(peer.name, peer.serial);
}

void Desk::attend(Attendee& attendee, const wire::v1::Joining& request) {
  Outbox out;
  {
    const std::lock_guard lock(mutex_);
    const Peer& peer = attendee.peer_;
    const auto refuse = [&](std::string_view reason, grpc::StatusCode code, const std::string& text) {
      say_refused(peer, "attend", reason, text);
      end(attendee, {code, text}, out);
    };
    const auto joining = wire::from_message(request);
    if (!peer.refusal.empty()) {
      refuse("admission", grpc::StatusCode::PERMISSION_DENIED, peer.refusal);
    } else if (!joining) {
      refuse("protocol", grpc::StatusCode::FAILED_PRECONDITION, joining.error().text());
    } else if (const Joined joined = coordinator_->join(clock_now(), peer.name, *joining);
               !joined.verdict.counts()) {
      refuse(reason_name(joined.verdict.reason), grpc::StatusCode::FAILED_PRECONDITION, joined.verdict.text);
    } else {
      attendee.session_ = joined.session;
      attending_.insert(&attendee);
      say(LogLine::Level::kInfo, "joined",
          {{"node", peer.name}, {"samples", fmt::to_string(joining->weight)}});
      write(attendee, out);  // the empty order: it has joined
    }
    tell_all(out);
  }
  deliver(out);
}

void Desk::written(Attendee& attendee, bool ok) {
  Outbox out;
  {
    const std::lock_guard lock(mutex_);
    --attendee.busy_;
    if (!ok) end(attendee, grpc::Status::CANCELLED, out);
    if (attendee.ending_) {
      settle(attendee, out);
    } else if (++attendee.piece_ < wire::pieces(attendee.order_)) {
      write(attendee, out);
    } else if (attendee.order_.kind == Order::Kind::kDone) {
      end(attendee, grpc::Status::OK, out);
    } else {
      attendee.order_ = {};
      tell(attendee, out);
    }
  }
  deliver(out);
}

void Desk::cancelled(Attendee& attendee) {
  Outbox out;
  {
    const std::lock_guard lock(mutex_);
    end(attendee, grpc::Status::CANCELLED, out);
    depart(attendee);
    tell_all(out);
  }
  deliver(out);
}

void Desk::gone(Attendee& attendee) {
  Outbox out;
  {
    const std::lock_guard lock(mutex_);
    attending_.erase(&attendee);
    depart(attendee);
    tell_all(out);
  }
  deliver(out);
}

void Desk::begin(Upload& upload) {
  Outbox out;
  {
    const std::lock_guard lock(mutex_);
    Upload*& current = uploads_[upload.peer_.name];
    if (current != nullptr && !current->finished_) {
      current->finished_ = true;
      out.replaced.push_back(current);
    }
    current = &upload;
  }
  deliver(out);
}

std::optional<std::uint64_t> Desk::expected(const Upload& upload, const Ticket& ticket) const {
  const std::lock_guard lock(mutex_);
  return coordinator_->payload_size(upload.peer_.name, ticket);
}

Verdict Desk::submit(const Upload& upload, const Update& update, double seconds) {
  Outbox out;
  Verdict verdict;
  {
    const std::lock_guard lock(mutex_);
    verdict = coordinator_->submit(clock_now(), upload.peer_.name, update);
    if (verdict.counts() && measure_) note_answer(upload, update, seconds);
    if (!verdict.counts()) say_refused(upload.peer_, "submit", reason_name(verdict.reason), verdict.text);
    tell_all(out);
  }
  deliver(out);
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
  Outbox out;
  {
    const std::lock_guard lock(mutex_);
    put_out_the_refused(out);
    const Time now = clock_now();
    for (Attendee* attendee : attending_)
      if (attendee->ending_ && attendee->busy_ == 1 && !attendee->finished_ &&
          now - attendee->ending_since_ > kFarewell) {
        ++attendee->busy_;  // it is not to end before it has been cancelled
        out.cancels.push_back(attendee);
      }
    coordinator_->tick(now);
    tell_all(out);
  }
  deliver(out);
}

void Desk::end_all() {
  Outbox out;
  {
    const std::lock_guard lock(mutex_);
    for (Attendee* attendee : attending_)
      end(*attendee, {grpc::StatusCode::UNAVAILABLE, "the server is stopping"}, out);
  }
  deliver(out);
}

void Desk::log(LogLine::Level level, std::string event,
               std::vector<std::pair<std::string, std::string>> fields) {
  const std::lock_guard lock(mutex_);
  say(level, std::move(event), std::move(fields));
}

void Desk::log_refusal(const Peer& peer, std::string_view call, std::string_view reason,
                       std::string_view text) {
  const std::lock_guard lock(mutex_);
  say_refused(peer, call, reason, text);
}

// An attendee in the outbox cannot go before it is served: its end needs the very call that is to be made here.
void Desk::deliver(const Outbox& out) {
  for (Attendee* attendee : out.writes) attendee->start_write(attendee->message_);
  for (const auto& [attendee, status] : out.ends) attendee->finish(status);
  for (Upload* upload : out.replaced)
    upload->finish({grpc::StatusCode::ABORTED, "a newer update of this node took its place"});
  for (Attendee* attendee : out.cancels) {
    attendee->cancel();
    Outbox more;
    {
      const std::lock_guard lock(mutex_);
      --attendee->busy_;
      settle(*attendee, more);
    }
    deliver(more);
  }
}

void Desk::write(Attendee& attendee, Outbox& out) {
  ++attendee.busy_;
  attendee.message_ = wire::piece(attendee.order_, attendee.piece_);
  out.writes.push_back(&attendee);
}

void Desk::end(Attendee& attendee, const grpc::Status& status, Outbox& out) {
  if (attendee.ending_) return;
  attendee.ending_ = status;
  attendee.ending_since_ = clock_now();
  settle(attendee, out);
}

void Desk::settle(Attendee& attendee, Outbox& out) {
  if (!attendee.ending_ || attendee.busy_ > 0 || attendee.finished_) return;
  attendee.finished_ = true;
  out.ends.emplace_back(&attendee, *attendee.ending_);
}

void Desk::depart(Attendee& attendee) {
  if (attendee.session_ == 0 || std::exchange(attendee.departed_, true)) return;
  say(LogLine::Level::kInfo, "left", {{"node", attendee.peer_.name}});
  coordinator_->leave(clock_now(), attendee.peer_.name, attendee.session_);
}

// What one node has not heard yet.
void Desk::tell(Attendee& attendee, Outbox& out) {
  if (attendee.busy_ > 0 || attendee.ending_) return;
  Order order = coordinator_->order_for(attendee.peer_.name, attendee.session_, attendee.last_);
  switch (order.kind) {
    case Order::Kind::kNone: return;
    case Order::Kind::kEnded:
      return end(attendee, {grpc::StatusCode::ABORTED, "the session has ended: join again"}, out);
    case Order::Kind::kTask:
      attendee.last_ = order.task.ticket;
      if (measure_) note_asked(attendee, order.task);
      break;
    case Order::Kind::kDone: break;
  }
  attendee.order_ = std::move(order);
  attendee.piece_ = 0;
  write(attendee, out);
}

void Desk::tell_all(Outbox& out) {
  if (coordinator_->news() != heard_) {
    heard_ = coordinator_->news();
    for (Attendee* attendee : attending_) tell(*attendee, out);
  }
  log_progress();
}

void Desk::put_out_the_refused(Outbox& out) {
  if (const std::uint64_t version = admission_.version(); version != admitted_by_)
    admitted_by_ = version;
  else
    return;
  for (Attendee* attendee : attending_) {
    const std::string refused = admission_.refusal(attendee->peer_.name, attendee->peer_.serial);
    if (refused.empty() || attendee->ending_) continue;
    say_refused(attendee->peer_, "attend", "admission", refused);
    end(*attendee, {grpc::StatusCode::PERMISSION_DENIED, refused}, out);
    depart(*attendee);
  }
}

void Desk::note_asked(const Attendee& attendee, const Assignment& task) {
  if (task.steps == 0) return;
  if (asked_for_.ticket != task.ticket) asked_.clear();
  asked_for_ = task;
  if (asked_.insert(attendee.peer_.name).second) ++measured_.asked;
}

void Desk::note_answer(const Upload& upload, const Update& update, double seconds) {
  constexpr std::size_t kMost = 1'000'000;
  if (update.ticket != asked_for_.ticket || measured_.answers.size() >= kMost) return;
  const double latency = update.timing.round_trip / 2;
  measured_.answers.push_back({upload.peer_.name, asked_for_.steps, update.weight, update.timing.compute,
                               asked_for_.payload->size(), update.payload.size(),
                               update.timing.down + latency, seconds + latency, update.timing.round_trip});
}

void Desk::log_progress() {
  const FederationStatus status = coordinator_->status();
  if (status.round != logged_.round)
    say(LogLine::Level::kInfo, "round",
        {{"round", fmt::to_string(status.round)},
         {"step", fmt::format("{}/{}", status.step, status.steps)},
         {"loss", status.train_loss ? fmt::format("{:.9g}", *status.train_loss) : "-"},
         {"nodes", fmt::to_string(status.nodes)},
         {"ms", fmt::to_string(status.last_round.count())}});
  if (status.abandoned != logged_.abandoned)
    say(LogLine::Level::kWarning, "abandoned", {{"text", status.trouble}});
  if (status.phase != logged_.phase &&
      (status.phase == "done" || status.phase == "diverged" || status.phase == "failed"))
    say(status.phase == "done" ? LogLine::Level::kInfo : LogLine::Level::kError, status.phase,
        {{"round", fmt::to_string(status.round)}, {"digest", status.digest}, {"text", status.trouble}});
  logged_ = status;
}

void Desk::say(LogLine::Level level, std::string event,
               std::vector<std::pair<std::string, std::string>> fields) {
  if (!log_) return;
  if (level == LogLine::Level::kWarning) {
    std::string kind = event;
    for (const auto& [key, value] : fields)
      if (key != "text") kind += ' ' + value;
    const auto left_out = limit_.pass(kind, clock_now());
    if (!left_out) return;
    if (*left_out > 0) fields.emplace_back("left_out", fmt::to_string(*left_out));
  }
  log_({level, std::move(event), std::move(fields)});
}

void Desk::say_refused(const Peer& peer, std::string_view call, std::string_view reason,
                       std::string_view text) {
  say(LogLine::Level::kWarning, "refused",
      {{"node", peer.name},
       {"call", std::string(call)},
       {"reason", std::string(reason)},
       {"text", std::string(text)}});
}

}  // namespace mfl
