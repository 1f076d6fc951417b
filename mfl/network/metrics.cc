#include "mfl/network/metrics.h"

#include <fmt/format.h>
#include <prometheus/client_metric.h>
#include <prometheus/metric_family.h>
#include <prometheus/metric_type.h>
#include <prometheus/text_serializer.h>

#include <chrono>
#include <utility>
#include <vector>

#include "mfl/network/address.h"

namespace mfl {
namespace {

using Families = std::vector<prometheus::MetricFamily>;

using Labels = std::vector<prometheus::ClientMetric::Label>;

void add_metric(Families& families, const std::string& name, const std::string& help,
                prometheus::MetricType type, double value, Labels labels = {}) {
  if (families.empty() || families.back().name != name) families.push_back({name, help, type, {}});
  prometheus::ClientMetric metric;
  metric.label = std::move(labels);
  (type == prometheus::MetricType::Counter ? metric.counter.value : metric.gauge.value) = value;
  families.back().metric.push_back(std::move(metric));
}

void gauge(Families& families, const std::string& name, const std::string& help, double value,
           Labels labels = {}) {
  add_metric(families, name, help, prometheus::MetricType::Gauge, value, std::move(labels));
}

void counter(Families& families, const std::string& name, const std::string& help, std::uint64_t value,
             Labels labels = {}) {
  add_metric(families, name, help, prometheus::MetricType::Counter, static_cast<double>(value),
             std::move(labels));
}

void optional_gauge(Families& families, const std::string& name, const std::string& help,
                    const std::optional<double>& value, Labels labels = {}) {
  if (value) gauge(families, name, help, *value, std::move(labels));
}

double number(std::uint64_t n) { return static_cast<double>(n); }

double in_seconds(Time time) {
  constexpr double kMilliseconds = 1000;
  return static_cast<double>(time.count()) / kMilliseconds;
}

double unix_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

void add_run(Families& out, const FederationStatus& status) {
  gauge(out, "mfl_build_info", "Version of the server, as labels; always 1", 1,
        {{"version", status.version}, {"protocol", fmt::to_string(kProtocolVersion)}});
  gauge(out, "mfl_round", "Committed rounds", number(status.round));
  gauge(out, "mfl_step", "Committed local steps", number(status.step));
  gauge(out, "mfl_steps_planned", "Local steps of the whole run", number(status.steps));
  gauge(out, "mfl_nodes", "Connected nodes", number(status.nodes));
  gauge(out, "mfl_nodes_needed", "Nodes that a round needs to start", number(status.needed));
  gauge(out, "mfl_quarantined_nodes", "Nodes that are set aside after repeated failures",
        number(status.quarantined));
  gauge(out, "mfl_round_nodes_chosen", "Nodes chosen for the round in progress", number(status.chosen));
  gauge(out, "mfl_round_updates_counted", "Updates counted in the round in progress", number(status.counted));
  counter(out, "mfl_rounds_abandoned_total", "Abandoned attempts at a round", status.abandoned);
  prometheus::ClientMetric time;
  time.summary.sample_count = status.rounds_timed;
  time.summary.sample_sum = in_seconds(status.all_rounds);
  out.push_back({"mfl_round_seconds",
                 "Duration of the rounds committed since the process started",
                 prometheus::MetricType::Summary,
                 {time}});
  gauge(out, "mfl_last_round_seconds", "Duration of the last round", in_seconds(status.last_round));
  counter(out, "mfl_vector_bytes_up_total", "Bytes of vectors in counted updates", status.bytes_up);
  counter(out, "mfl_vector_bytes_down_total", "Bytes of vectors sent for committed rounds",
          status.bytes_down);
  optional_gauge(out, "mfl_train_loss", "Training loss over all samples, as it was measured last",
                 status.losses.train_loss);
  optional_gauge(out, "mfl_batch_loss", "Mean loss over the batches of a round, before the last round",
                 status.losses.batch_loss);
  optional_gauge(out, "mfl_start_loss", "Loss of where nodes started, if not at w, in the last round",
                 status.losses.start_loss);
  optional_gauge(out, "mfl_test_loss", "Test loss at the last record", status.test_loss);
  optional_gauge(out, "mfl_test_accuracy", "Test accuracy at the last record, from 0 to 1",
                 status.test_accuracy);
  gauge(out, "mfl_over", "1 once the run has ended", status.digest.empty() ? 0 : 1);
  for (int r = 1; r < kReasons; ++r)
    counter(out, "mfl_refused_total", "Calls and updates that were refused",
            status.refused[static_cast<std::size_t>(r)],
            {{"reason", std::string(reason_name(static_cast<Reason>(r)))}});
  counter(out, "mfl_failed_handshakes_total", "TLS handshakes that did not succeed",
          status.failed_handshakes);
  if (status.certificate_expires)
    gauge(out, "mfl_certificate_expiry_timestamp_seconds",
          "When the server's certificate expires (Unix time)",
          static_cast<double>(*status.certificate_expires));
}

void add_nodes(Families& out, const std::vector<NodeStatus>& nodes) {
  const double now = unix_now();
  const auto each = [&](const std::string& name, const std::string& help, const auto& value_of) {
    for (const NodeStatus& node : nodes)
      optional_gauge(out, name, help, value_of(node), {{"node", node.name}});
  };
  using Value = std::optional<double>;
  each("mfl_node_connected", "1 while the node is connected; absent for one that the lists keep out",
       [](const NodeStatus& node) -> Value {
         if (!node.barred.empty()) return std::nullopt;
         return node.connected ? 1 : 0;
       });
  each("mfl_node_last_seen_timestamp_seconds", "When the node was last heard of (Unix time)",
       [&](const NodeStatus& node) -> Value { return now - in_seconds(node.silent); });
  each("mfl_node_samples", "Samples of the node",
       [](const NodeStatus& node) -> Value { return number(node.samples); });
  each("mfl_node_last_round", "Round of the node's last counted update",
       [](const NodeStatus& node) -> Value { return number(node.round); });
  each("mfl_node_train_loss", "Training loss of the node over all its samples, as it was measured last",
       [](const NodeStatus& node) { return node.losses.train_loss; });
  each("mfl_node_batch_loss", "Mean loss over the batches of the node's last counted update",
       [](const NodeStatus& node) { return node.losses.batch_loss; });
  each("mfl_node_start_loss", "Loss of where the node's last counted update started, if not at w",
       [](const NodeStatus& node) { return node.losses.start_loss; });
  each("mfl_node_last_seconds", "Duration of the local steps of the node's last counted update",
       [](const NodeStatus& node) { return node.seconds; });
  each("mfl_node_failures", "Refused updates and missed deadlines of the node since the process started",
       [](const NodeStatus& node) -> Value { return number(node.failures); });
  each("mfl_node_certificate_expiry_timestamp_seconds", "When the node's certificate expires (Unix time)",
       [](const NodeStatus& node) -> Value {
         if (!node.certificate_expires) return std::nullopt;
         return static_cast<double>(*node.certificate_expires);
       });
}

std::string status_metrics_text(const FederationStatus& status) {
  Families families;
  add_run(families, status);
  add_nodes(families, status.node_list);
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace

Result<std::unique_ptr<PageServer>> serve_metrics(const std::string& address,
                                                  std::function<FederationStatus()> status) {
  MFL_TRY(const Address parsed, parse_address("--metrics", address, PortZero::kAnyFree));
  auto server =
      PageServer::start(parsed, [status = std::move(status)] { return status_metrics_text(status()); });
  if (!server)
    return fail(ErrorCode::kNetwork,
                fmt::format("cannot serve metrics on {}: {}", address, server.error().message),
                "choose another address with --metrics");
  return server;
}

}  // namespace mfl
