#include "mfl/devices/virtual_time.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace mfl {
namespace {

// Rounds of the stream of a device: what the draw is for.
enum Quality : std::uint64_t { kSpeed = 0, kDropout = 1, kUp = 2, kDown = 3, kLatency = 4 };

double quality(const VirtualTime& time, const Distribution& distribution, Quality which, std::uint64_t node) {
  return draw(distribution, Stream(time.seed, Purpose::kDevice, which, node));
}

std::vector<double> answers_of(const Population& population, std::span<const std::uint32_t> chosen,
                               std::uint64_t round, std::uint64_t attempt, const RoundWork& work) {
  std::vector<double> answers;
  answers.reserve(chosen.size());
  for (const std::uint32_t node : chosen)
    answers.push_back(drops_out(*population.time, node, round, attempt)
                          ? std::numeric_limits<double>::infinity()
                          : answer_seconds(*population.time, node, population.samples_of(node), work));
  return answers;
}

Result<RoundPlan> plan_timed_round(const Population& population, std::uint64_t round, const RoundWork& work) {
  constexpr std::uint64_t kMostAttempts = 1000;
  RoundPlan plan;
  RoundTime time;
  for (std::uint64_t attempt = 1; attempt <= kMostAttempts; ++attempt) {
    const auto chosen = choose_participants(population.participation, round, attempt, population.nodes);
    const Attempt ended = judge_attempt(answers_of(population, chosen, round, attempt, work),
                                        population.time->deadline, population.time->quorum);
    plan.sent += chosen.size();
    plan.received += ended.counted.size();
    time.seconds += ended.seconds;
    time.missed += chosen.size() - ended.counted.size();
    if (!ended.committed) {
      time.seconds += kRetryPause;
      ++time.abandoned;
      continue;
    }
    time.chosen = chosen.size();
    time.slowest_seconds = ended.slowest_seconds;
    time.idle_share = ended.idle_share;
    time.total_seconds = time.seconds;
    if (ended.counted.size() < population.nodes)
      for (const std::size_t place : ended.counted) plan.counted.push_back(chosen[place]);
    plan.time = time;
    return plan;
  }
  return fail(ErrorCode::kRunFailed,
              fmt::format("round {} was abandoned {} times: too few nodes answer within {} s", round,
                          kMostAttempts, population.time->deadline),
              "raise round_deadline, lower quorum, or give [devices] and [network] other numbers");
}

}  // namespace

double answer_seconds(const VirtualTime& time, std::uint64_t node, std::size_t samples,
                      const RoundWork& work) {
  const auto gradients = static_cast<double>(rows_of_steps(work.batching, samples, work.steps));
  const double latency = quality(time, time.network.latency, kLatency, node);
  const double down = static_cast<double>(work.bytes_down) / quality(time, time.network.down, kDown, node);
  const double compute = gradients / quality(time, time.devices.speed, kSpeed, node);
  const double up = static_cast<double>(work.bytes_up) / quality(time, time.network.up, kUp, node);
  return 2 * latency + down + compute + up;
}

bool drops_out(const VirtualTime& time, std::uint64_t node, std::uint64_t round, std::uint64_t attempt) {
  if (time.devices.dropout == Distribution{}) return false;
  Stream stream(time.seed, Purpose::kDropout, round, node);
  for (std::uint64_t earlier = 1; earlier < attempt; ++earlier) (void)stream.next();
  return stream.uniform() < quality(time, time.devices.dropout, kDropout, node);
}

Attempt judge_attempt(std::span<const double> answers, double deadline, std::size_t quorum) {
  Attempt out;
  double busy = 0;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (!(answers[i] <= deadline)) continue;
    out.counted.push_back(i);
    out.slowest_seconds = std::max(out.slowest_seconds, answers[i]);
    busy += answers[i];
  }
  const bool all = out.counted.size() == answers.size();
  const std::size_t needed = quorum == 0 ? answers.size() : quorum;
  out.committed = all || (!out.counted.empty() && out.counted.size() >= needed);
  out.seconds = all ? out.slowest_seconds : deadline;
  const double whole = out.seconds * static_cast<double>(out.counted.size());
  out.idle_share = whole > 0 ? std::max(0.0, 1 - busy / whole) : 0;
  return out;
}

Result<RoundPlan> plan_round(const Population& population, std::uint64_t round, const RoundWork& work) {
  RoundPlan plan;
  if (population.time) {
    MFL_TRY(plan, plan_timed_round(population, round, work));
  } else {
    plan.sent = plan.received = participant_count(population.participation, population.nodes);
    if (plan.sent < population.nodes)
      plan.counted = choose_participants(population.participation, round, 1, population.nodes);
  }
  if (population.aggregator)
    MFL_CHECK(population.aggregator->check(plan.counted.empty() ? population.nodes : plan.counted.size()));
  return plan;
}

}  // namespace mfl
