// What nodes measure of a model beside its training loss, and the means over nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mfl {

class MessageReader;
class MessageWriter;

// Finite numbers by name. Some names have a meaning: these two are the test loss and test accuracy of a run, and weigh by the number of
// test samples where every node tells it.
using Metrics = std::map<std::string, double>;
inline constexpr const char* kTestLossMetric = "test_loss";
inline constexpr const char* kTestAccuracyMetric = "test_accuracy";
inline constexpr const char* kTestSamplesMetric = "test_samples";

// Of one node.
inline constexpr std::size_t kMostMetrics = 100;
inline constexpr std::size_t kMostMetricName = 256;  // bytes

// Exact until the final rounding, in any order. Not thread-safe.
class MetricMeans {
 public:
  // Of a node with so many training samples; 0 < samples <= ExactMean::kMaxWeight.
  void add(const Metrics& metrics, std::uint64_t samples);
  void merge(const MetricMeans& other);
  // The same with what another process has put. Throws as MessageReader does.
  void put(MessageWriter& to) const;
  void merge(MessageReader& from);
  void clear() { nodes_.clear(); }

  // Of the metrics that all nodes have; test samples are added up.
  Metrics means() const;

 private:
  struct Node {
    Metrics metrics;
    std::uint64_t samples = 0;
  };
  std::vector<Node> nodes_;
};

// Of a metric; nothing where it is missing.
std::optional<double> find_metric(const Metrics& metrics, std::string_view name);

// As a JSON object; empty for none.
std::string metrics_json(const Metrics& metrics);

}  // namespace mfl
