#include "mfl/network/node.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <thread>
#include <utility>

#include "mfl/federation/participant.h"
#include "mfl/network/certificate.h"
#include "mfl/network/expiry.h"
#include "mfl/network/node_tasks.h"
#include "mfl/network/transport/tls.h"

namespace mfl {
namespace {

using Clock = std::chrono::steady_clock;
using Field = std::pair<std::string, std::string>;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Exponential, with jitter.
class Backoff {
 public:
  void reset() { longest_ = kFirst; }
  std::chrono::milliseconds next() {
    constexpr std::chrono::milliseconds kMost{5'000};
    const auto span = std::exchange(longest_, std::min(2 * longest_, kMost));
    return std::chrono::milliseconds(
        span.count() / 2 +
        static_cast<std::int64_t>(device_() % static_cast<unsigned>(span.count() / 2 + 1)));
  }

 private:
  static constexpr std::chrono::milliseconds kFirst{100};
  std::random_device device_;
  std::chrono::milliseconds longest_ = kFirst;
};

// Turns the stop flag into a cancelled call.
class StopWatch {
 public:
  StopWatch(FederationClient& client, const std::atomic<bool>* stop) {
    if (stop == nullptr) return;
    thread_ = std::thread([this, &client, stop] {
      constexpr std::chrono::milliseconds kBeat{50};
      while (!done_) {
        if (stop->load()) return client.cancel();
        std::this_thread::sleep_for(kBeat);
      }
    });
  }
  StopWatch(const StopWatch&) = delete;
  StopWatch& operator=(const StopWatch&) = delete;
  ~StopWatch() {
    done_ = true;
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::atomic<bool> done_{false};
  std::thread thread_;
};

// What a node reports of its rounds and of certificates.
class NodeLog {
 public:
  explicit NodeLog(const NodeOptions& options) : options_(options) {}

  void greeted(const std::string& server_certificate) {
    server_certificate_ = server_certificate;
    warn_of_expiry();
  }

  // `rounds`: with an update of this node, so far.
  void judged(Work work, const Update& update, const Verdict& verdict, std::uint64_t rounds) {
    const auto [name, value] = loss_of_rounds(update.losses);
    const Field round("round", fmt::to_string(update.ticket.round));
    const Field loss(name, fmt::format("{:.9g}", value.value_or(0)));
    if (!verdict.counts()) {
      say(options_.log, LogLine::Level::kWarning, "refused",
          {round, {"reason", std::string(reason_name(verdict.reason))}, {"text", verdict.text}});
    } else if (prepares(work)) {
      // told when it was done
    } else if (work == Work::kEvaluate) {
      say(options_.log, LogLine::Level::kDebug, "evaluated", {loss});  // the final model; not a round
    } else {
      say(options_.log, LogLine::Level::kDebug, "sent",
          {round, loss, {"seconds", fmt::format("{:.3g}", update.timing.compute)}});
      report_progress(round, loss, rounds);
    }
    if (Clock::now() - expiry_checked_ > std::chrono::hours(24)) warn_of_expiry();
  }

 private:
  void report_progress(const Field& round, const Field& loss, std::uint64_t rounds) {
    constexpr std::chrono::seconds kPause{30};
    const auto now = Clock::now();
    if (now - reported_ < kPause) return;
    const double rate = static_cast<double>(rounds - std::exchange(reported_rounds_, rounds)) /
                        std::chrono::duration<double>(now - std::exchange(reported_, now)).count();
    say(options_.log, LogLine::Level::kInfo, "progress",
        {round, loss, {"rounds_per_minute", fmt::format("{:.3g}", 60 * rate)}});
  }

  void warn_of_expiry() {
    expiry_checked_ = Clock::now();
    const auto warn = [&](std::string_view whose, const std::string& pem) {
      const auto facts = read_certificate(pem);
      if (!facts || days_left(facts->expires) >= kExpiryWarningDays) return;
      say(options_.log, LogLine::Level::kWarning, "expiring",
          {{"text", fmt::format("the certificate of {} {}: renew it with mfl certs renew", whose,
                                expiry_text(facts->expires))}});
    };
    if (!options_.client.tls) return;
    warn("this node", options_.client.tls->certificate);
    warn("the server", server_certificate_);
  }

  const NodeOptions& options_;
  std::string server_certificate_;  // PEM
  Clock::time_point expiry_checked_;
  Clock::time_point reported_ = Clock::now();
  std::uint64_t reported_rounds_ = 0;
};

class NodeRun {
 public:
  NodeRun(const NodeOptions& options, std::string name)
      : options_(options), name_(std::move(name)), digest_(options.config_digest), log_(options) {}

  Result<NodeOutcome> run() {
    Clock::time_point last_heard = Clock::now();
    for (;;) {
      const std::uint64_t before = outcome_.connections;
      MFL_TRY(const bool over, once());
      if (over) return outcome_;
      if (outcome_.connections != before) {
        last_heard = Clock::now();
        backoff_.reset();
      }
      if (options_.give_up_after && Clock::now() - last_heard >= *options_.give_up_after)
        return fail(ErrorCode::kNetwork, fmt::format("gave up: {}", trouble_),
                    "check the server, or raise --give-up-after");
      const auto until = Clock::now() + backoff_.next();
      while (!stopped() && Clock::now() < until) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }

 private:
  bool stopped() const { return options_.stop != nullptr && options_.stop->load(); }

  Result<bool> stop_here() {
    outcome_.status = "stopped";
    return true;
  }

  // What follows a failed call: an error when trying again would not help, else false: not over.
  Result<bool> after(const CallError& failed) {
    if (stopped()) return stop_here();
    if (failed.final) return tl::unexpected<Error>(failed.error);
    if (trouble_ != failed.error.text())
      say(options_.log, LogLine::Level::kWarning, "disconnected", {{"text", failed.error.text()}});
    trouble_ = failed.error.text();
    return false;
  }

  // One connection, from greeting to its end. True when all is over.
  Result<bool> once() {
    if (stopped()) return stop_here();
    MFL_TRY(const auto client, FederationClient::make(options_.client));
    const StopWatch watch(*client, options_.stop);
    const auto plan = client->greet(digest_);
    if (!plan) return after(plan.error());
    log_.greeted(client->server_certificate());
    if (!tasks_)
      if (const auto opened = open(*plan); !opened)
        return stopped() ? stop_here() : tl::unexpected<Error>(opened.error());
    const auto attended = client->attend(joining_, options_.max_payload);
    if (!attended) return after(attended.error());
    ++outcome_.connections;
    trouble_.clear();
    say(options_.log, LogLine::Level::kInfo, "joined",
        {{"run", plan->run_id}, {"samples", fmt::to_string(outcome_.samples)}});
    const auto asked = Clock::now();
    const auto joined = client->greet(digest_);
    if (!joined) return after(joined.error());
    timing_.round_trip = seconds_since(asked);
    MFL_TRY(const bool ready, tasks_->follow(joined->schema));
    if (!ready) return false;
    participant_->joined();
    const auto over = take_part(*client);
    participant_->lost();
    return over;
  }

  // Loads the data of this node and begins with the plan, once.
  Result<void> open(const Plan& plan) {
    MFL_TRY(NodeSource data, NodeSource::open(plan, options_, name_));
    std::random_device device;
    joining_ = {.config_digest = plan.config_digest,
                .weight = data.samples(),
                .columns = data.columns(),
                .bits = data.experiment().config.run.precision == Precision::kF32 ? 32U : 64U,
                .schema = data.schema(),
                .instance = ((std::uint64_t{device()} << 32U) | device()) | 1U};  // 0 is none
    if (!options_.allow_measure) joining_.withheld.push_back(Work::kMeasure);
    digest_ = plan.config_digest;
    outcome_.run_id = plan.run_id;
    outcome_.samples = data.samples();
    outcome_.columns = data.columns();
    participant_.emplace(joining_.weight);
    tasks_.emplace(std::move(data), plan.run_id, name_, options_);
    say(options_.log, LogLine::Level::kInfo, "loaded",
        {{"samples", fmt::to_string(outcome_.samples)},
         {"features", fmt::to_string(outcome_.columns)},
         {"labels", labels_text(joining_.schema)}});
    return {};
  }

  Result<bool> take_part(FederationClient& client) {
    for (;;) {
      if (stopped()) return stop_here();
      switch (participant_->next()) {
        case Participant::Next::kJoin: return false;
        case Participant::Next::kWait: {
          auto order = client.next_order();
          if (!order) return after(order.error());
          if (order->kind == Order::Kind::kEnded)
            return after({{ErrorCode::kNetwork, order->status, {}, nullptr}, false});
          participant_->ordered(*std::move(order));
          timing_.down = client.arrival_seconds();
          break;
        }
        case Participant::Next::kTrain: {
          if (tasks_->forget_if_outdated(participant_->task())) return false;
          const auto start = Clock::now();
          auto trained = tasks_->work(participant_->task());
          if (stopped()) return stop_here();
          if (!trained) return tl::unexpected<Error>(std::move(trained).error());
          timing_.compute = seconds_since(start);
          participant_->trained(trained->losses, std::move(trained->blocks), std::move(trained->payload),
                                std::move(trained->metrics));
          break;
        }
        case Participant::Next::kSubmit: {
          const Work work = participant_->task().work;
          Update update = participant_->update();
          update.timing = timing_;
          const auto verdict = client.submit(update);
          if (!verdict) return after(verdict.error());
          participant_->judged(*verdict);
          if (verdict->counts() && work == Work::kTrain) ++outcome_.rounds;
          log_.judged(work, update, *verdict, outcome_.rounds);
          break;
        }
        case Participant::Next::kStop: return conclude(client);
      }
    }
  }

  Result<bool> conclude(FederationClient& client) {
    if (const auto& refusal = participant_->refusal())
      return fail(ErrorCode::kNetwork,
                  fmt::format("the server refused this node's update: {} ({})", refusal->text,
                              reason_name(refusal->reason)),
                  "check that server and node have the same mfl and that the data has not changed");
    (void)client.watch();  // so that the server need not wait for this node
    outcome_.status = participant_->ending()->status;
    outcome_.digest = participant_->ending()->digest;
    return true;
  }

  const NodeOptions& options_;
  NodeOutcome outcome_;
  std::string name_;
  std::string digest_;   // of the plan that this node follows
  std::string trouble_;  // of the last connection
  Timing timing_;
  Backoff backoff_;
  NodeLog log_;
  Joining joining_;
  std::optional<NodeTasks> tasks_;  // nothing before the first connection
  std::optional<Participant> participant_;
};

}  // namespace

Result<NodeOutcome> run_node(const NodeOptions& options) {
  std::string name = options.client.name;  // as the server knows this node: draws depend on it
  if (const auto& tls = options.client.tls) {
    MFL_CHECK(check_identity(*tls, CertificateFacts::Role::kNode));
    MFL_TRY(name, read_certificate(tls->certificate).map(&CertificateFacts::name));
  }
  return NodeRun(options, std::move(name)).run();
}

}  // namespace mfl
