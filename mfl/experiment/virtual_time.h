// The clock of a simulated federation: how long devices and their network would take, worked out from a model of them.
// Pure functions; nothing here looks at a real clock.
//
// A node that is chosen gets the State, computes and sends its update:
//   latency + bytes / down + steps x samples / speed + latency + bytes / up
// A round ends when all chosen have answered, or at its deadline with at least the quorum of them; with fewer it is
// abandoned at the deadline with the State unchanged, and tried again after a pause with nodes drawn anew. Who drops
// out does not say so: it is missed at the deadline.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "mfl/algorithm/participation.h"
#include "mfl/base/result.h"
#include "mfl/experiment/config.h"
#include "mfl/record/run.h"

namespace mfl {

inline constexpr double kRetryPause = 1;  // seconds between an abandoned round and the next attempt

struct VirtualTime {
  std::uint64_t seed = 0;
  DevicesConfig devices;
  NetworkConfig network;
  double deadline = 0;     // seconds, from the start of a round
  std::size_t quorum = 0;  // 0: all that were chosen
};

// Nothing where [devices] and [network] are at their defaults, and for a centralised algorithm, which has no devices.
std::optional<VirtualTime> make_virtual_time(const Config& config);

// What a node is asked for in a round.
struct RoundWork {
  std::uint64_t steps = 0;
  std::uint64_t bytes = 0;  // that go down to a node, and up again
};

// From the start of a round until the node's update is there. A device's speed, bandwidths and latency are drawn once
// from (seed, node): the same in every round.
double answer_seconds(const VirtualTime& time, std::uint64_t node, std::size_t samples,
                      const RoundWork& work);

// Drawn from (seed, round, attempt, node), with the chance of the node's device.
bool drops_out(const VirtualTime& time, std::uint64_t node, std::uint64_t round, std::uint64_t attempt);

// How one attempt at a round ends.
struct Attempt {
  bool committed = false;
  double seconds = 0;
  std::vector<std::size_t> counted;  // places in `answers` of those in time, also where it was abandoned
  double slowest_seconds = 0;        // of those
  double idle_share = 0;             // of their time from the start to the end, how much they waited
};

// `answers` are the seconds after which each chosen node answers; infinite for who drops out.
Attempt judge_attempt(std::span<const double> answers, double deadline, std::size_t quorum);

// The nodes of a run, how a round chooses among them, and how long it takes.
struct Crowd {
  std::size_t nodes = 1;
  Participation participation;
  std::optional<VirtualTime> time;
  std::function<std::size_t(std::size_t node)> samples_of;  // asked only where there is a time
};

// A centralised algorithm has nodes that always take part.
Crowd make_crowd(const Config& config, std::size_t nodes, std::function<std::size_t(std::size_t)> samples_of);

// What a round will be, attempts that are abandoned included.
struct RoundPlan {
  std::vector<std::uint32_t> counted;    // ascending; empty: all nodes
  std::uint64_t sent = 0, received = 0;  // States that go down, updates that come up in time
  std::optional<RoundTime> time;         // total_seconds is of this round alone
};

// Round `round` >= 1. A round that is abandoned a thousand times is kRunFailed.
Result<RoundPlan> plan_round(const Crowd& crowd, std::uint64_t round, const RoundWork& work);

}  // namespace mfl
