#include "mfl/aggregate/metric_means.h"

#include <algorithm>
#include <span>
#include <stdexcept>
#include <utility>

#include "mfl/aggregate/exact_mean.h"
#include "mfl/base/json.h"
#include "mfl/base/message.h"

namespace mfl {
namespace {

// A count that can be a weight.
std::optional<std::uint64_t> weight_of(const Metrics& metrics) {
  const auto count = find_metric(metrics, kTestSamplesMetric);
  if (!count || *count < 1 || *count > static_cast<double>(ExactMean::kMaxWeight)) return std::nullopt;
  return static_cast<std::uint64_t>(*count);
}

}  // namespace

std::optional<double> find_metric(const Metrics& metrics, std::string_view name) {
  const auto found = metrics.find(std::string(name));
  return found == metrics.end() ? std::nullopt : std::optional(found->second);
}

std::string metrics_json(const Metrics& metrics) {
  if (metrics.empty()) return {};
  Json out = Json::object();
  for (const auto& [name, value] : metrics) out[name] = value;
  return out.dump();
}

void MetricMeans::add(const Metrics& metrics, std::uint64_t samples) { nodes_.push_back({metrics, samples}); }

void MetricMeans::merge(const MetricMeans& other) {
  nodes_.insert(nodes_.end(), other.nodes_.begin(), other.nodes_.end());
}

void MetricMeans::put(MessageWriter& to) const {
  to.put(nodes_.size());
  for (const auto& [metrics, samples] : nodes_) {
    to.put(samples);
    to.put(metrics.size());
    for (const auto& [name, value] : metrics) {
      to.put_text(name);
      to.put(value);
    }
  }
}

void MetricMeans::merge(MessageReader& from) {
  for (auto nodes = from.take<std::size_t>(); nodes > 0; --nodes) {
    Node& node = nodes_.emplace_back();
    node.samples = from.take<std::uint64_t>();
    if (node.samples == 0 || node.samples > ExactMean::kMaxWeight)
      throw std::invalid_argument("metrics without a weight");
    for (auto left = from.take<std::size_t>(); left > 0; --left) {
      std::string name = from.take_text();
      node.metrics[std::move(name)] = from.take<double>();
    }
  }
}

Metrics MetricMeans::means() const {
  if (nodes_.empty()) return {};
  const bool counted =
      std::ranges::all_of(nodes_, [](const Node& node) { return weight_of(node.metrics).has_value(); });
  Metrics out;
  for (const auto& [name, first] : nodes_.front().metrics) {
    const bool by_test = counted && (name == kTestLossMetric || name == kTestAccuracyMetric);
    ExactMean mean(1);
    double sum = 0;
    bool complete = true;
    for (const Node& node : nodes_) {
      const auto value = find_metric(node.metrics, name);
      complete =
          complete && value &&
          !mean.add(std::span<const double>(&*value, 1), by_test ? *weight_of(node.metrics) : node.samples);
      if (!complete) break;
      sum += *value;
    }
    if (!complete) continue;
    mean.mean(std::span(&out[name], 1));
    if (name == kTestSamplesMetric) out[name] = sum;
  }
  return out;
}

}  // namespace mfl
