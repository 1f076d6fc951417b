#include "mfl/federation/round_stage.h"

#include <fmt/format.h>

#include <utility>

#include "mfl/algorithm/participation.h"

namespace mfl {

// Nodes that have objected to this State are not asked again where not all are needed.
std::vector<std::string> RoundStage::choose(std::vector<std::string> names) const {
  const Participation participation{run_.options.seed, run_.options.fraction_train, run_.options.quorum};
  const std::size_t wanted = participant_count(participation, names.size());
  if (wanted < names.size()) {
    std::vector<std::string> rest;
    for (const std::string& node : names)
      if (!objections_.has(node)) rest.push_back(node);
    if (rest.size() >= wanted) names = std::move(rest);
  }
  std::vector<std::string> out;
  for (const std::uint32_t i :
       choose_participants(participation, ticket_.round, ticket_.attempt, names.size()))
    out.push_back(names[i]);
  return out;
}

void RoundStage::begin_attempt(const std::vector<std::string>& available, std::vector<Work> stages) {
  stages_ = std::move(stages);
  ticket_ = {run_.options.epoch, run_.report.written().round + 1, ++attempts_};
  started_ = run_.now;
  open_ = true;
  for (const std::string& node : choose(available)) {
    seats_.add(node, run_.members.list().at(node).weight);
    objections_.ask(node);
  }
  const auto [node, share] = seats_.heaviest();
  run_.report.warnings().heaviest(node, share, seats_.size(), ticket_.round);
  begin_stage();
}

void RoundStage::begin_stage() {
  deadline_ = run_.now + run_.options.round_deadline;
  ++run_.version;
}

void RoundStage::end_attempt() {
  open_ = false;
  seats_.clear();
  walked_out_.clear();
  refusal_.clear();
  objections_.end_attempt();
  drop_answers();
}

void RoundStage::stop(Error error) {
  run_.stop_with(std::move(error));
  end_attempt();
}

void RoundStage::abandon(const std::string& why) {
  run_.report.abandon(fmt::format("round {}: {}", ticket_.round, why));
  if (run_.now >= deadline_) drop_silent();
  end_attempt();
  not_before_ = run_.now + run_.options.retry_pause;
}

std::optional<Time> RoundStage::deadline() const {
  if (open_) return deadline_;
  return run_.now < not_before_ ? std::optional(not_before_) : std::nullopt;
}

bool RoundStage::awaits(const std::string& node) const {
  const Seat* seat = seats_.find(node);
  return seat != nullptr && seat->state == Seat::State::kAwaited;
}

Verdict RoundStage::check(const std::string& node, const Ticket& ticket) const {
  const std::uint64_t round = run_.report.written().round + 1;
  if (ticket.round < round)
    return {Reason::kStale, fmt::format("round {} is over, this is round {}", ticket.round, round)};
  if (ticket.round > round)
    return {Reason::kFuture, fmt::format("round {} has not begun, this is round {}", ticket.round, round)};
  if (ticket.epoch != run_.options.epoch)
    return {Reason::kStale, "the server has restarted since this task was issued"};
  if (!open_ || ticket.attempt != ticket_.attempt)
    return {ticket.attempt > attempts_ ? Reason::kFuture : Reason::kLate,
            fmt::format("attempt {} at round {} is not in progress", ticket.attempt, ticket.round)};
  if (Verdict verdict = check_stage(ticket, ticket_.stage); !verdict.counts()) return verdict;
  const Seat* seat = seats_.find(node);
  if (seat == nullptr) return {Reason::kNotChosen, fmt::format("no part in round {}", ticket.round)};
  switch (seat->state) {
    case Seat::State::kAwaited: return {};
    case Seat::State::kCounted:
    case Seat::State::kRefused:
      return {Reason::kDuplicate, fmt::format("answered round {} before", ticket.round)};
    case Seat::State::kGone: return {Reason::kLate, fmt::format("left round {}", ticket.round)};
  }
  return {};
}

Verdict RoundStage::submit(const std::string& node, Update update) {
  Verdict verdict = count(node, seats_.find(node)->weight, std::move(update));
  seats_.put(node, verdict.counts() ? Seat::State::kCounted : Seat::State::kRefused);
  if (!verdict.counts()) {
    refusal_ = fmt::format("node {}: {}", node, verdict.text);
    run_.members.quarantine().fail(run_.now, node, fmt::format("round {}: {}", ticket_.round, verdict.text));
  } else if (walked_out_.contains(node)) {
    run_.members.quarantine().forgive(node);
  }
  return verdict;
}

void RoundStage::join(const std::string& node, std::uint64_t weight) {
  const Seat* seat = seats_.find(node);
  if (seat == nullptr) return;
  if (seat->weight != weight)
    leave(node);
  else if (seat->state == Seat::State::kGone)
    seats_.put(node, Seat::State::kAwaited);
}

void RoundStage::leave(const std::string& node) {
  if (!awaits(node)) return;
  walked_out_.insert(node);
  run_.members.quarantine().fail(run_.now, node,
                                 fmt::format("round {}: left without an answer", ticket_.round));
  seats_.put(node, Seat::State::kGone);
}

// Drops nodes that missed the deadline; live ones join again.
void RoundStage::drop_silent() {
  ++run_.version;
  for (const std::string& node : seats_.names(Seat::State::kAwaited)) {
    run_.members.quarantine().fail(run_.now, node,
                                   fmt::format("round {}: no answer by the deadline", ticket_.round));
    seats_.put(node, Seat::State::kGone);
    run_.members.remove(node);
  }
}

// Too few can still answer.
void RoundStage::judge_lost(std::size_t counted, std::size_t awaited, std::size_t needed) {
  objections_.forget_the_gone(run_.members);
  if (objections_.diverged(run_.members)) return diverge();
  if (const auto raised = objections_.raise_limits(run_.members); !raised.empty()) {
    for (const std::string& node : raised) run_.members.quarantine().forgive(node);
    abandon(fmt::format(
        "{} of {} nodes sent larger updates than in the rounds before ({}); the limits are raised",
        raised.size(), run_.members.size(), refusal_));
    not_before_ = run_.now;
    return;
  }
  // The others may say the same: all must be heard to know.
  if (counted == 0 && awaited > 0 && objections_.any() && run_.now < deadline_) return;
  abandon(fmt::format("needs {} updates, at most {} can still arrive{}", needed, counted + awaited,
                      refusal_.empty() ? "" : fmt::format(" ({})", refusal_)));
}

void RoundStage::advance() {
  if (!open_) return;
  const std::size_t counted = seats_.count(Seat::State::kCounted);
  const std::size_t awaited = seats_.count(Seat::State::kAwaited);
  const std::size_t needed = run_.options.quorum == 0 ? seats_.size() : run_.options.quorum;
  if (counted + awaited < needed) return judge_lost(counted, awaited, needed);
  if (awaited == 0) return settle();
  if (run_.now < deadline_) return;
  if (counted < needed)
    return abandon(fmt::format("{} of {} updates at the deadline, {} needed; no answer from {}", counted,
                               seats_.size(), needed, some_of(seats_.names(Seat::State::kAwaited))));
  drop_silent();
  settle();
}

// Whoever has answered is asked in the next stage. The first round has no history: its updates are compared with each other.
void RoundStage::settle() {
  if (ticket_.stage + 1 < stages_.size()) {
    ++ticket_.stage;
    for (const std::string& node : seats_.names(Seat::State::kCounted))
      seats_.put(node, Seat::State::kAwaited);
    return begin_stage();
  }
  if (run_.options.aggregator && work() != Work::kEvaluate)
    if (const auto enough = run_.options.aggregator->check(seats_.count(Seat::State::kCounted)); !enough)
      return abandon(enough.error().message);
  const std::vector<std::string> odd = objections_.outliers();
  if (odd.empty()) return close();
  for (const std::string& node : odd) {
    run_.report.refuse(Reason::kNorm);
    run_.members.quarantine().fail(
        run_.now, node, fmt::format("round {}: far larger than the others' updates", ticket_.round));
  }
  abandon(fmt::format("updates far larger than the others', from {}", some_of(odd)));
}

void RoundStage::committed(SizeHistory history, const std::vector<std::string>& nodes) {
  Quarantine& quarantine = run_.members.quarantine();
  for (const std::string& node : nodes) quarantine.succeed(node);
  for (const std::string& node : run_.members.left_out())
    run_.report.warnings().left_out(node, ticket_.round, quarantine.last_failure(node));
  objections_.commit(std::move(history), nodes);
  attempts_ = 0;
}

}  // namespace mfl
