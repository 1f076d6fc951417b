// What makes the result of a federation less trustworthy and does not stop it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mfl/federation/messages.h"

namespace mfl {

// "another process joined as NAME; two processes must not share a certificate".
std::string displaced_text(std::string_view node);

// Which nodes were measured before the first round, of more.
std::string measured_text(const std::vector<std::string>& names, std::size_t nodes);
// "excluded from this run: " and why.
std::string excluded_text(std::string_view why);

// Of one process. Not thread-safe.
class RunWarnings {
 public:
  explicit RunWarnings(std::vector<std::string> first) : first_(std::move(first)) {}

  // The share of a round's weight that its heaviest node has; a share of half or less, or of fewer than three nodes, is no warning.
  void heaviest(const std::string& node, double share, std::size_t nodes, std::uint64_t round);
  // Another process joined under the name of one that was still connected.
  void displaced(const std::string& node);
  // A round was committed without the node, which is set aside.
  void left_out(const std::string& node, std::uint64_t round, std::string_view why);

  // Columns that standardising cannot scale.
  void constant_features(const Schema& schema, const std::vector<std::size_t>& columns);

  // What a node says of its data, which is unlike the others'.
  void outlier(const std::string& node, std::string text);
  // Fewer nodes were measured than the federation has.
  void measured_by(const std::vector<std::string>& names, std::size_t nodes) {
    first_.push_back(measured_text(names, nodes));
  }

  // The trainers of the nodes do not start from the same weights: those of `node` were taken.
  void different_starts(const std::string& node);

  // One sentence each, in a fixed order.
  std::vector<std::string> list() const;

 private:
  std::vector<std::string> first_;
  std::map<std::string, std::string> heavy_, left_out_, outliers_;  // by node: the first time
  std::map<std::string, std::uint64_t> displaced_;                  // how often
};

}  // namespace mfl
