// The clock of a simulated federation: how long its devices and network would take, computed from a model of them. Pure
// functions; none of them reads a real clock.
//
// A chosen node receives the State, computes, and sends its update after
//   latency + bytes / down + samples of its steps / speed + latency + bytes / up
// A round ends when all chosen nodes have answered, or at its deadline if at least the quorum has. With fewer answers the round
// is abandoned at the deadline, the State stays as it was, and after a pause the round is tried again with newly drawn
// nodes. A node that drops out sends no message; it is missed at the deadline.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "mfl/aggregate/aggregator.h"
#include "mfl/algorithm/participation.h"
#include "mfl/algorithm/rounds.h"
#include "mfl/base/result.h"
#include "mfl/config/config.h"
#include "mfl/record/run.h"
#include "mfl/solve/batches.h"

namespace mfl {

inline constexpr double kRetryPause = 1;  // seconds between an abandoned round and the next attempt

struct VirtualTime {
  std::uint64_t seed = 0;
  DevicesConfig devices;
  NetworkConfig network;
  double deadline = 0;     // seconds, from the start of a round
  std::size_t quorum = 0;  // 0: all chosen nodes
};

// What a node has to do in a round.
struct RoundWork {
  std::uint64_t steps = 0;                     // or epochs (Batching::by_epochs)
  std::uint64_t bytes_down = 0, bytes_up = 0;  // of one node
  Batching batching = {};                      // which samples those steps are on
};

// From the start of a round until the node's update has arrived. A device's speed, bandwidths and latency are drawn once
// from (seed, node): the same in every round.
double answer_seconds(const VirtualTime& time, std::uint64_t node, std::size_t samples,
                      const RoundWork& work);

// Drawn from (seed, round, attempt, node), with the probability of the node's device.
bool drops_out(const VirtualTime& time, std::uint64_t node, std::uint64_t round, std::uint64_t attempt);

// How one attempt at a round ends.
struct Attempt {
  bool committed = false;
  double seconds = 0;
  std::vector<std::size_t> counted;  // indices in `answers` of those in time, also of an abandoned attempt
  double slowest_seconds = 0;        // of those
  double idle_share = 0;             // of their time in the attempt: the share spent waiting
};

// `answers` are the seconds after which each chosen node answers; infinite for a node that drops out.
Attempt judge_attempt(std::span<const double> answers, double deadline, std::size_t quorum);

// The nodes of a run, how a round chooses among them, and how long it takes.
struct Population {
  std::size_t nodes = 1;
  Participation participation;
  std::optional<VirtualTime> time;
  std::function<std::size_t(std::size_t node)> samples_of;  // called only when there is a time model
  Batching batching = {};
  std::shared_ptr<const Aggregator> aggregator = nullptr;  // null: the exact mean
  // To and from one node, in rounds that send all vectors and in those between them.
  RoundBytes bytes = {}, bytes_between = {};
};

// How a round will go, including abandoned attempts.
struct RoundPlan {
  std::vector<std::uint32_t> counted;    // ascending; empty: all nodes
  std::uint64_t sent = 0, received = 0;  // States sent down; updates received in time
  std::optional<RoundTime> time;         // total_seconds is of this round alone
};

// Round `round` >= 1. kRunFailed for a round that is abandoned a thousand times, kBadConfig for one with fewer updates than the
// aggregator needs.
Result<RoundPlan> plan_round(const Population& population, std::uint64_t round, const RoundWork& work);

}  // namespace mfl
