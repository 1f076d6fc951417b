#include "mfl/devices/measure.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "mfl/base/math.h"
#include "mfl/config/config_keys.h"

namespace mfl {
namespace {

// Sums over the answers of one node.
struct NodeSums {
  double answers = 0;
  double gradients = 0, compute = 0;
  double bytes_down = 0, down = 0, bytes_up = 0, up = 0;
  double round_trips = 0;

  double latency() const { return round_trips / answers / 2; }
};

double rounded(double x) { return std::stod(fmt::format("{:.4g}", x)); }

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

// `none` is what it is where a node needed no time, or where nothing positive is left.
Distribution distribution_of(const std::vector<double>& values, const Distribution& none) {
  std::vector<double> logs;
  for (const double value : values)
    if (std::isfinite(value) && value > 0) logs.push_back(portable_log(value));
  if (logs.empty()) return none;
  double mean = 0, squares = 0;
  for (const double log : logs) mean += log / static_cast<double>(logs.size());
  for (const double log : logs) squares += (log - mean) * (log - mean);
  const double sigma =
      logs.size() < 2 ? 0 : rounded(std::sqrt(squares / static_cast<double>(logs.size() - 1)));
  const double middle = rounded(portable_exp(median(logs)));
  constexpr double kNoSpread = 1e-3;  // a thousandth is less than clocks tell
  if (sigma < kNoSpread) return {Distribution::Kind::kFixed, middle, 0};
  return {Distribution::Kind::kLognormal, middle, std::min(sigma, 10.0)};
}

}  // namespace

Result<MeasuredModel> model_of(const MeasuredFederation& measured) {
  if (measured.answers.empty())
    return fail(ErrorCode::kBadData, "nothing was measured: no node has answered",
                "let the federation complete a few rounds first");
  std::map<std::string, NodeSums> nodes;
  for (const MeasuredAnswer& answer : measured.answers) {
    NodeSums& sums = nodes[answer.node];
    sums.answers += 1;
    sums.gradients += static_cast<double>(answer.steps) * static_cast<double>(answer.samples);
    sums.compute += answer.compute_seconds;
    sums.bytes_down += static_cast<double>(answer.bytes_down);
    sums.bytes_up += static_cast<double>(answer.bytes_up);
    sums.down += answer.down_seconds;
    sums.up += answer.up_seconds;
    sums.round_trips += answer.round_trip_seconds;
  }
  std::vector<double> speed, up, down, latency;
  for (const auto& [name, sums] : nodes) {
    const double waits = sums.latency() * sums.answers;
    speed.push_back(sums.gradients / sums.compute);
    down.push_back(sums.bytes_down / std::max(0.0, sums.down - waits));
    up.push_back(sums.bytes_up / std::max(0.0, sums.up - waits));
    latency.push_back(sums.latency());
  }
  MeasuredModel model;
  model.devices.speed = distribution_of(speed, kNoLimit);
  model.network = {distribution_of(up, kNoLimit), distribution_of(down, kNoLimit),
                   distribution_of(latency, Distribution{})};
  const auto came = static_cast<double>(measured.answers.size());
  const auto asked = std::max(came, static_cast<double>(measured.asked));
  model.devices.dropout.first = rounded(1 - came / asked);
  return model;
}

std::string measured_toml(const MeasuredModel& model) {
  Config config;
  config.devices = model.devices;
  config.network = model.network;
  std::string out;
  std::string_view table;
  for (const Key& key : config_keys()) {
    if (key.table != "devices" && key.table != "network") continue;
    if (key.table != table) out += fmt::format("{}[{}]\n", table.empty() ? "" : "\n", key.table);
    table = key.table;
    out += fmt::format("{} = {}\n", key.key, key.get(config));
  }
  return out;
}

}  // namespace mfl
