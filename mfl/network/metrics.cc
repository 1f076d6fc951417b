#include "mfl/network/metrics.h"

#include <fmt/core.h>
#include <prometheus/client_metric.h>
#include <prometheus/collectable.h>
#include <prometheus/exposer.h>
#include <prometheus/metric_family.h>
#include <prometheus/metric_type.h>

#include <exception>
#include <utility>
#include <vector>

#include "mfl/network/address.h"

namespace mfl {
namespace {

using Families = std::vector<prometheus::MetricFamily>;

void add(Families& families, const std::string& name, const std::string& help, bool counter, double value,
         const std::string& reason = {}) {
  if (families.empty() || families.back().name != name)
    families.push_back(
        {name, help, counter ? prometheus::MetricType::Counter : prometheus::MetricType::Gauge, {}});
  prometheus::ClientMetric metric;
  if (!reason.empty()) metric.label.push_back({"reason", reason});
  (counter ? metric.counter.value : metric.gauge.value) = value;
  families.back().metric.push_back(std::move(metric));
}

class Collector final : public prometheus::Collectable {
 public:
  explicit Collector(std::function<FederationStatus()> status) : status_(std::move(status)) {}

  Families Collect() const override {
    const FederationStatus status = status_();
    Families out;
    const auto number = [](std::uint64_t n) { return static_cast<double>(n); };
    add(out, "mfl_round", "Rounds committed", false, number(status.round));
    add(out, "mfl_step", "Local steps committed", false, number(status.step));
    add(out, "mfl_steps_planned", "Local steps of the whole run", false, number(status.steps));
    add(out, "mfl_nodes", "Nodes that are here", false, number(status.nodes));
    add(out, "mfl_round_nodes_chosen", "Nodes that the round under way chose", false, number(status.chosen));
    add(out, "mfl_round_updates_counted", "Updates that the round under way has", false,
        number(status.counted));
    add(out, "mfl_rounds_abandoned_total", "Attempts at a round that were given up", true,
        number(status.abandoned));
    prometheus::ClientMetric time;
    constexpr double kMilliseconds = 1000;
    time.summary.sample_count = status.rounds_timed;
    time.summary.sample_sum = static_cast<double>(status.all_rounds.count()) / kMilliseconds;
    out.push_back({"mfl_round_seconds",
                   "Time of committed rounds since the process started",
                   prometheus::MetricType::Summary,
                   {time}});
    add(out, "mfl_last_round_seconds", "Time of the last round", false,
        static_cast<double>(status.last_round.count()) / kMilliseconds);
    add(out, "mfl_vector_bytes_up_total", "Bytes of vectors in counted updates", true,
        number(status.bytes_up));
    add(out, "mfl_vector_bytes_down_total", "Bytes of vectors handed out for committed rounds", true,
        number(status.bytes_down));
    if (status.train_loss)
      add(out, "mfl_train_loss", "Training loss before the last round", false, *status.train_loss);
    add(out, "mfl_over", "1 when the run has ended", false, status.digest.empty() ? 0 : 1);
    for (int r = 1; r < kReasons; ++r)
      add(out, "mfl_refused_total", "What nodes sent and was not counted", true,
          number(status.refused[static_cast<std::size_t>(r)]),
          std::string(reason_name(static_cast<Reason>(r))));
    return out;
  }

 private:
  std::function<FederationStatus()> status_;
};

class Endpoint final : public MetricsEndpoint {
 public:
  Endpoint(const std::string& address, std::function<FederationStatus()> status)
      : collector_(std::make_shared<Collector>(std::move(status))), exposer_(address, 1) {
    exposer_.RegisterCollectable(collector_);
  }

 private:
  std::shared_ptr<Collector> collector_;
  prometheus::Exposer exposer_;
};

}  // namespace

Result<std::unique_ptr<MetricsEndpoint>> serve_metrics(const std::string& address,
                                                       std::function<FederationStatus()> status) {
  MFL_CHECK(parse_address("--metrics", address, PortZero::kAnyFree));
  try {
    return std::make_unique<Endpoint>(address, std::move(status));
  } catch (const std::exception& error) {
    return fail(ErrorCode::kNetwork, fmt::format("cannot serve metrics on {}: {}", address, error.what()),
                "--metrics names another address");
  }
}

}  // namespace mfl
