// A stage of a run: nodes are given work, and their answers are taken until there are enough. What precedes
// the first round is one (preparation_stage.h), a round another (round_stage.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "mfl/federation/messages.h"

namespace mfl {

// A coordinator asks its stages in the order in which a node passes them. Not thread-safe.
class Stage {
 public:
  virtual ~Stage() = default;

  // For people, as FederationStatus::phase.
  virtual std::string_view phase() const = 0;

  // A node has become a member, or has joined again; or is no longer one.
  virtual void join(const std::string& node, std::uint64_t weight) = 0;
  virtual void leave(const std::string& node) = 0;

  // Whether the member has work that it has not answered; then its ticket, and what it is.
  virtual bool awaits(const std::string& node) const = 0;
  virtual Ticket ticket(const std::string& node) const = 0;
  virtual Assignment task(const std::string& node) const = 0;

  // Whether an answer with this ticket would count, and the bytes of its vectors at most.
  virtual Verdict check(const std::string& node, const Ticket& ticket) const = 0;
  virtual std::uint64_t most_bytes(const std::string& node) const = 0;
  // Of an answer that has passed check(): counts it, or says why not.
  virtual Verdict submit(const std::string& node, Update update) = 0;

  // Whatever the time and the answers allow.
  virtual void advance() = 0;
  // When advance() has something to do although nothing has arrived.
  virtual std::optional<Time> deadline() const = 0;
};

}  // namespace mfl
