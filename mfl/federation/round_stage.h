// The rounds of a run, one after the other, without their numbers: who is asked, until when, and whether the
// answers suffice. The last one only gathers the loss of the final weights.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mfl/federation/coordinated_run.h"
#include "mfl/federation/objections.h"
#include "mfl/federation/seats.h"
#include "mfl/federation/stage.h"

namespace mfl {

// A round takes one attempt or more, each of which asks some nodes, stage by stage. What is done with the
// numbers is its subclass's (state_rounds.h). Not thread-safe; the run outlives it.
class RoundStage : public Stage {
 public:
  RoundStage(CoordinatedRun& run, UpdateLimitOptions limits, SizeHistory history)
      : run_(run), objections_(std::move(limits), std::move(history)) {}

  // An attempt at a round begins, with some of these members. A State that does not exist is made first, from
  // these weights if there are some. The run may end or fail instead.
  virtual void begin(const std::vector<std::string>& available, const std::string& initial_weights) = 0;
  // The next begin() makes the State again.
  virtual void forget() = 0;
  virtual bool has_state() const = 0;
  virtual std::string spare_buffer() = 0;  // as Coordinator
  // The run cannot continue, and neither can the attempt.
  void stop(Error error);

  bool open() const { return open_; }              // an attempt is in progress
  Time not_before() const { return not_before_; }  // of the next attempt
  const Seats& seats() const { return seats_; }    // of the attempt in progress; else none

  std::string_view phase() const override {
    return !open_ ? "waiting" : work() == Work::kEvaluate ? "closing" : "training";
  }
  // A seat taken with other data is not the one that the State was handed to.
  void join(const std::string& node, std::uint64_t weight) override;
  // A node that leaves its task unanswered has failed, unless it answers while the attempt is in progress.
  void leave(const std::string& node) override;
  bool awaits(const std::string& node) const override;
  Ticket ticket(const std::string& /*node*/) const override { return ticket_; }
  Verdict check(const std::string& node, const Ticket& ticket) const override;
  Verdict submit(const std::string& node, Update update) override;
  void advance() override;
  std::optional<Time> deadline() const override;

 protected:
  // Asks the nodes that a simulation would draw whose nodes are those that are available. Whoever has
  // answered a stage of the list is asked in the next one.
  void begin_attempt(const std::vector<std::string>& available, std::vector<Work> stages);
  void end_attempt();
  // The round that these nodes made has been committed.
  void committed(SizeHistory history, const std::vector<std::string>& nodes);

  const std::string& refusal() const { return refusal_; }  // the last one of an answer's contents
  Time took() const { return run_.now - started_; }

  Work work() const { return stages_.at(ticket_.stage); }  // of the stage in progress

  CoordinatedRun& run_;
  Objections objections_;
  Ticket ticket_;  // of the last attempt

 private:
  // Counts an answer of a node that joined with `weight`, or says why not.
  virtual Verdict count(const std::string& node, std::uint64_t weight, Update update) = 0;
  // There are enough answers: commits the round, or ends the run.
  virtual void close() = 0;
  // Most nodes say that the State diverges: ends the run.
  virtual void diverge() = 0;
  // What was counted in the attempt is no longer needed.
  virtual void drop_answers() = 0;

  std::vector<std::string> choose(std::vector<std::string> names) const;
  void abandon(const std::string& why);
  void drop_silent();
  void begin_stage();
  void judge_lost(std::size_t counted, std::size_t awaited, std::size_t needed);
  void settle();

  bool open_ = false;
  std::vector<Work> stages_ = {Work::kTrain};  // of the round
  std::uint64_t attempts_ = 0;                 // at the round in progress
  Time started_{0}, deadline_{0}, not_before_{0};
  Seats seats_;
  std::set<std::string> walked_out_;  // that left while they were awaited
  std::string refusal_;
};

}  // namespace mfl
