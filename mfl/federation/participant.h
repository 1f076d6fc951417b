// A node of a federation without transport, threads or clock: what to do next, given what the server said.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mfl/federation/messages.h"

namespace mfl {

// Keeps the last update until the server's next order shows that its round is committed, and sends it again, instead of
// training again, to whoever asks for the same work: after a lost connection, an abandoned round or a restart of the
// server. Not thread-safe.
class Participant {
 public:
  enum class Next {
    kJoin,    // there is no session
    kWait,    // for the server's next order
    kTrain,   // task()
    kSubmit,  // update()
    kStop,    // the run is over, or the server refuses what this node does: see refusal()
  };

  explicit Participant(std::uint64_t weight) : weight_(weight) {}

  Next next() const;
  const Assignment& task() const { return *task_; }
  Update update() const;

  void joined() { here_ = true; }
  // The connection or the session is lost. What was trained is kept.
  void lost();
  void ordered(Order order);
  // The work of task(): no blocks and no payload for kEvaluate.
  void trained(const Losses& losses, std::vector<Block> blocks, std::string payload, Metrics metrics = {});
  void judged(const Verdict& verdict);

  // How the run ended; nothing while it continues.
  const std::optional<Order>& ending() const { return ending_; }
  // A verdict that trying again does not change.
  const std::optional<Verdict>& refusal() const { return refusal_; }

 private:
  struct Done {
    std::string state_digest;
    std::uint64_t steps;
    Work kind;
    Losses losses;
    std::vector<Block> blocks;
    std::string payload;
    Metrics metrics;
  };

  bool has_work() const;

  std::uint64_t weight_;
  bool here_ = false;
  bool answered_ = false;
  std::optional<Assignment> task_;
  std::optional<Done> work_;
  std::optional<Order> ending_;
  std::optional<Verdict> refusal_;
};

}  // namespace mfl
