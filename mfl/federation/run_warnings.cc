#include "mfl/federation/run_warnings.h"

#include <fmt/format.h>

namespace mfl {

std::string displaced_text(std::string_view node) {
  return fmt::format("another process joined as {}; two processes must not share a certificate", node);
}

std::string measured_text(const std::vector<std::string>& names, std::size_t nodes) {
  return fmt::format(
      "what precedes the first round was measured at {} of {} nodes, those that were connected: {}",
      names.size(), nodes, fmt::join(names, ", "));
}

std::string excluded_text(std::string_view why) { return fmt::format("excluded from this run: {}", why); }

void RunWarnings::heaviest(const std::string& node, double share, std::size_t nodes, std::uint64_t round) {
  constexpr std::size_t kFewNodes = 2;  // of which one has half or more
  constexpr double kHalf = 0.5, kPercent = 100;
  if (nodes <= kFewNodes || share <= kHalf || heavy_.contains(node)) return;
  heavy_[node] = fmt::format(
      "node {} has {:.0f} % of the samples of the {} nodes of round {}: it decides the result; max_samples "
      "limits what a node may have",
      node, kPercent * share, nodes, round);
}

void RunWarnings::displaced(const std::string& node) { ++displaced_[node]; }

void RunWarnings::left_out(const std::string& node, std::uint64_t round, std::string_view why) {
  if (left_out_.contains(node)) return;
  left_out_[node] = fmt::format("node {} was set aside and round {} made without it: {}", node, round, why);
}

void RunWarnings::constant_features(const Schema& schema, const std::vector<std::size_t>& columns) {
  const std::size_t first = columns.front();
  const std::string name =
      first < schema.features.size() ? schema.features[first] : fmt::format("number {}", first + 1);
  first_.push_back(columns.size() == 1
                       ? fmt::format("feature {} is constant at all nodes and has no effect", name)
                       : fmt::format("{} features, {} first, are constant at all nodes and have no effect",
                                     columns.size(), name));
}

void RunWarnings::outlier(const std::string& node, std::string text) {
  outliers_.try_emplace(node, std::move(text));
}

void RunWarnings::different_starts(const std::string& node) {
  first_.push_back(fmt::format(
      "the trainers of the nodes initialise the model differently: the run starts from the weights of {}",
      node));
}

std::vector<std::string> RunWarnings::list() const {
  std::vector<std::string> out = first_;
  for (const auto& [node, text] : outliers_) out.push_back(text);
  for (const auto& [node, text] : heavy_) out.push_back(text);
  for (const auto& [node, text] : left_out_) out.push_back(text);
  for (const auto& [node, times] : displaced_)
    out.push_back(fmt::format("{} ({} {})", displaced_text(node), times, times == 1 ? "time" : "times"));
  return out;
}

}  // namespace mfl
