#include "mfl/network/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "mfl/base/version.h"

namespace mfl {
namespace {

const CallStatus kStopping{StatusCode::kUnavailable, "the server is stopping"};
constexpr Time kDay = std::chrono::hours{24};
constexpr std::size_t kMostBuffers = 16;
constexpr Time kWatched = std::chrono::seconds{10};  // whoever watches asks more often than that

Time clock_now() {
  return std::chrono::duration_cast<Time>(std::chrono::steady_clock::now().time_since_epoch());
}

std::chrono::sys_seconds unix_time(std::int64_t seconds) {
  return std::chrono::sys_seconds(std::chrono::seconds(seconds));
}

}  // namespace

Messages::Messages(Order order, const OrderCodec& codec)
    : order_(std::move(order)), codec_(codec), messages_(codec_.pieces(order_)) {}

MessageBytes Messages::at(std::size_t number) {
  const std::lock_guard lock(mutex_);
  MessageBytes& message = messages_[number];
  if (!message) message = std::make_shared<const std::string>(codec_.encode(order_, number));
  return message;
}

Session::Session(std::unique_ptr<Coordinator> coordinator, Plan plan, const ServerOptions& options,
                 OrderCodec codec)
    : measure_(options.measure),
      nodes_(options.nodes),
      certificate_expires_(options.certificate_expires),
      codec_(codec),
      coordinator_(std::move(coordinator)),
      log_(serialised(options.log)),
      plan_(std::move(plan)) {
  warn_of_expiry(clock_now());
  publish();
}

Plan Session::plan() const {
  const std::lock_guard lock(mutex_);
  return plan_;
}

FederationStatus Session::status(bool with_nodes) const {
  const std::lock_guard lock(mutex_);
  FederationStatus status = *status_;
  if (!with_nodes) return status;
  status.node_list = table_.list(clock_now());
  add_standings(status.node_list, status.standings);
  return status;
}

std::optional<Error> Session::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

std::size_t Session::attending() const {
  const std::lock_guard lock(mutex_);
  return attending_count_;
}

std::size_t Session::unaware() const {
  const std::lock_guard lock(mutex_);
  return unaware_ ? unaware_->size() : 0;
}

Measurement Session::measured() const {
  const std::lock_guard lock(mutex_);
  return measured_;
}

std::optional<std::uint64_t> Session::expected(const std::string& node, const Ticket& ticket) const {
  const std::lock_guard lock(mutex_);
  const auto asked = expected_.find(node);
  if (asked == expected_.end() || asked->second.ticket != ticket) return std::nullopt;
  return asked->second.bytes;
}

std::string Session::buffer() {
  const std::lock_guard lock(mutex_);
  if (buffers_.empty()) return {};
  std::string buffer = std::move(buffers_.back());
  buffers_.pop_back();
  return buffer;
}

std::map<std::string, std::string> Session::serials() const {
  const std::lock_guard lock(mutex_);
  return table_.serials();
}

void Session::attend(Attendee& attendee, const Result<Joining>& joining) {
  const Peer& peer = attendee.peer_;
  if (closed_) return end(attendee, kStopping);
  if (!joining) {
    refused(peer.name, "attend", Reason::kProtocol, joining.error().text());
    return end(attendee, {StatusCode::kFailedPrecondition, joining.error().text()});
  }
  const Joined joined = coordinator_->join(clock_now(), peer.name, *joining);
  if (!joined.verdict.counts()) {
    log_.refused(peer.name, "attend", joined.verdict.reason, joined.verdict.text);
    publish();
    return end(attendee, {StatusCode::kFailedPrecondition, joined.verdict.text});
  }
  attendee.session_ = joined.session;
  {
    const std::lock_guard lock(mutex_);
    table_.joined(clock_now(), peer.name, peer.serial, joining->weight, peer.certificate_expires);
  }
  publish();  // the node's next question is for the schema, which its joining may have completed
  attending_.insert(&attendee);
  send(attendee, std::make_shared<Messages>(Order{}, codec_));  // the empty order: it has joined
  tell(attendee);
  publish();
  log_.write(LogLine::Level::kInfo, "joined",
             {{"node", peer.name}, {"samples", fmt::to_string(joining->weight)}});
  if (peer.certificate_expires) log_.expiry(peer.name, unix_time(*peer.certificate_expires));
}

void Session::sent(Attendee& attendee) { tell(attendee); }

void Session::gone(Attendee& attendee) {
  attendee.finished_ = true;
  attending_.erase(&attendee);
  depart(attendee);
  publish();
}

void Session::begin(Upload& upload) {
  if (closed_) return end(upload, kStopping);
  Upload*& current = uploads_[upload.peer_.name];
  if (current != nullptr) end(*current, {StatusCode::kAborted, "a newer update of this node took its place"});
  current = &upload;
}

void Session::expects(Upload& upload, const Ticket& ticket) {
  upload.ticket_ = ticket;
  end_stale_uploads();
}

void Session::submit(Upload& upload, Update update, double seconds) {
  if (closed_ || upload.finished_) return end(upload, kStopping);
  const std::string& node = upload.peer_.name;
  const auto answer = measure_ ? answer_of(upload, update, seconds) : std::nullopt;
  const Time now = clock_now();
  const Ticket ticket = update.ticket;
  const Losses losses = update.losses;
  const double compute = update.timing.compute;
  const bool closing = update.payload.empty();
  upload.ticket_.reset();
  const Verdict verdict = coordinator_->submit(now, node, std::move(update));
  {
    const std::lock_guard lock(mutex_);
    table_.heard(now, node);
    if (verdict.counts() && answer) measured_.answers.push_back(*answer);
    if (verdict.counts() && !closing) table_.counted(now, node, ticket.round, losses, compute);
    if (const auto asked = expected_.find(node); asked != expected_.end() && asked->second.ticket == ticket)
      expected_.erase(asked);
    for (std::string spare; buffers_.size() < kMostBuffers;) {
      spare = coordinator_->spare_buffer();
      if (spare.capacity() <= std::string().capacity()) break;
      buffers_.push_back(std::move(spare));
    }
  }
  if (verdict.expected)
    log_.write(LogLine::Level::kDebug, "stale", {{"node", node}, {"text", verdict.text}});
  else if (!verdict.counts())
    log_.refused(node, "submit", verdict.reason, verdict.text);
  publish();
  if (!std::exchange(upload.finished_, true)) upload.answer(verdict);
}

void Session::gone(const Upload& upload) {
  const auto current = uploads_.find(upload.peer_.name);
  if (current != uploads_.end() && current->second == &upload) uploads_.erase(current);
}

void Session::heard(const Peer& peer, bool again) {
  constexpr std::size_t kMost = 1'000;
  const std::lock_guard lock(mutex_);
  if (again && watching_.size() < kMost) watching_[peer.name] = clock_now();
  if (unaware_) unaware_->erase(peer.name);
  table_.heard(clock_now(), peer.name);
}

void Session::admitted(std::size_t names) {
  if (closed_ || nodes_ == 0) return;
  const std::uint64_t before = coordinator_->status().needed;
  coordinator_->set_min_available_nodes(clock_now(), std::min(nodes_, names));
  const std::uint64_t now = coordinator_->status().needed;
  if (now != before)
    log_.write(LogLine::Level::kInfo, "needed",
               {{"nodes", fmt::to_string(now)},
                {"text", fmt::format("the lists admit {} of {} nodes", names, nodes_)}});
  publish();
}

void Session::barred(const std::map<std::string, std::string>& nodes) {
  const std::lock_guard lock(mutex_);
  table_.bar(nodes);
}

void Session::failed_handshakes(const std::string& address, const std::string& why, std::uint64_t count) {
  failed_handshakes_ += count;
  log_.write(LogLine::Level::kWarning, "handshake",
             {{"address", address}, {"failed", fmt::to_string(failed_handshakes_)}, {"text", why}});
  publish();
}

void Session::tick() {
  const Time now = clock_now();
  if (now - expiry_checked_ > kDay) warn_of_expiry(now);
  if (!closed_) coordinator_->tick(now);
  publish();
}

void Session::close() {
  closed_ = true;
  for (Attendee* attendee : attending_) end(*attendee, kStopping);
  for (const auto& [name, upload] : uploads_) end(*upload, kStopping);
  coordinator_->flush();
  publish();
}

void Session::log(LogLine::Level level, std::string event,
                  std::vector<std::pair<std::string, std::string>> fields) {
  log_.write(level, std::move(event), std::move(fields));
}

void Session::refused(const std::string& node, std::string_view call, Reason reason, std::string_view text) {
  ++refused_[static_cast<std::size_t>(reason)];
  log_.refused(node, call, reason, text);
}

void Session::send(Attendee& attendee, std::shared_ptr<Messages> order) {
  attendee.progress_ = Attendee::kSending;
  attendee.send(std::move(order));
}

void Session::end(Attendee& attendee, const CallStatus& status) {
  if (!std::exchange(attendee.finished_, true)) attendee.finish(status);
}

void Session::end(Upload& upload, const CallStatus& status) {
  if (!std::exchange(upload.finished_, true)) upload.finish(status);
}

void Session::depart(Attendee& attendee) {
  if (attendee.session_ == 0 || std::exchange(attendee.departed_, true)) return;
  log_.write(LogLine::Level::kInfo, "left", {{"node", attendee.peer_.name}});
  {
    const std::lock_guard lock(mutex_);
    table_.left(clock_now(), attendee.peer_.name);
  }
  if (!closed_) coordinator_->leave(clock_now(), attendee.peer_.name, attendee.session_);
}

// What one node has not heard yet.
void Session::tell(Attendee& attendee) {
  if (attendee.finished_ || !attendee.can_send()) return;
  Order order = coordinator_->order_for(attendee.peer_.name, attendee.session_, attendee.last_);
  switch (order.kind) {
    case Order::Kind::kNone: return;
    case Order::Kind::kEnded:
      return end(attendee, {StatusCode::kAborted,
                            order.status.empty() ? "the session has ended: join again" : order.status});
    case Order::Kind::kTask: {
      attendee.last_ = order.task.ticket;
      if (measure_) note_asked(attendee, order.task);
      {
        const std::lock_guard lock(mutex_);
        expected_[attendee.peer_.name] = {
            order.task.ticket,
            coordinator_->payload_size(attendee.peer_.name, order.task.ticket).value_or(0)};
      }
      if (!tasks_.empty() && tasks_.begin()->second->order().task.ticket != order.task.ticket) tasks_.clear();
      auto& task = tasks_[order.task.counted_round];
      if (!task) task = std::make_shared<Messages>(std::move(order), codec_);
      return send(attendee, task);
    }
    case Order::Kind::kDone:
      send(attendee, std::make_shared<Messages>(std::move(order), codec_));
      return end(attendee, {});
  }
}

// An upload that can no longer count is answered at once: it occupies memory that others wait for.
void Session::end_stale_uploads() {
  for (const auto& [node, upload] : uploads_) {
    if (upload->finished_ || !upload->ticket_ || coordinator_->payload_size(node, *upload->ticket_)) continue;
    upload->finished_ = true;
    upload->answer(
        {Reason::kLate, fmt::format("round {} was closed while the update arrived", upload->ticket_->round)});
  }
}

// Before anybody is told, so that whoever asks next finds what it was told.
void Session::publish() {
  auto status = std::make_shared<FederationStatus>(coordinator_->status());
  for (std::size_t r = 0; r < status->refused.size(); ++r) status->refused[r] += refused_[r];
  status->failed_handshakes = failed_handshakes_;
  status->version = version();
  status->certificate_expires = certificate_expires_;
  log_.progress(*status);
  {
    const std::lock_guard lock(mutex_);
    status_ = std::move(status);
    plan_.schema = coordinator_->schema();
    failure_ = coordinator_->failure();
    attending_count_ = attending_.size();
    if (coordinator_->over() && !unaware_) {
      unaware_.emplace();
      for (const Attendee* attendee : attending_) unaware_->insert(attendee->peer_.name);
      for (const auto& [name, asked] : watching_)
        if (clock_now() - asked < kWatched) unaware_->insert(name);
    }
  }
  if (coordinator_->version() == told_) return;
  told_ = coordinator_->version();
  for (Attendee* attendee : attending_) tell(*attendee);
  end_stale_uploads();
}

void Session::warn_of_expiry(Time now) {
  expiry_checked_ = now;
  if (certificate_expires_) log_.expiry("", unix_time(*certificate_expires_));
  for (const Attendee* attendee : attending_)
    if (const auto expires = attendee->peer_.certificate_expires)
      log_.expiry(attendee->peer_.name, unix_time(*expires));
}

void Session::note_asked(const Attendee& attendee, const Assignment& task) {
  if (task.work != Work::kTrain) return;
  if (asked_for_.ticket != task.ticket) asked_.clear();
  asked_for_ = task;
  if (!asked_.insert(attendee.peer_.name).second) return;
  const std::lock_guard lock(mutex_);
  ++measured_.asked;
}

std::optional<MeasuredAnswer> Session::answer_of(const Upload& upload, const Update& update,
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
