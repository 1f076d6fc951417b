// What a federation must come to: the nodes' data and the result without a network.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "mfl/algorithm/algorithm.h"
#include "mfl/federation/preparation.h"
#include "mfl/federation/trainer.h"

namespace mfl::test {

inline constexpr std::size_t kColumns = 4;
inline constexpr const char* kRun = "0badcafe";
inline constexpr const char* kConfig = "c0ffee";

// Trainers of different nodes may be used on different threads; the rest is not thread-safe.
class Reference {
 public:
  Reference(const Algorithm& algorithm, std::size_t nodes, std::uint64_t steps);
  ~Reference();

  std::size_t nodes() const;
  std::uint64_t steps() const;
  const Algorithm& algorithm() const;
  std::string name(std::size_t node) const;
  Trainer& trainer(std::size_t node);
  // What the node answers to any task. Its smoothness is its number, from 1.
  Trained answer(std::size_t node, const Assignment& task);

  // What precedes the first round: columns are standardised, and the step size is measured. Trainers do without either.
  static PreparationNeeds needs(const Schema& schema);
  static double step_size_of(double smoothness) { return 0.5 / smoothness; }
  // What it must come to with these nodes.
  Prepared prepared(const std::vector<std::string>& nodes);

  // The digest of the state after a round from `before` in which exactly these nodes took part.
  std::string after(const State<float>& before, const std::vector<std::string>& nodes);
  // The digest of the final weights when all take part in every round.
  const std::string& final_digest();

 private:
  std::vector<std::size_t> numbers_of(const std::vector<std::string>& names) const;

  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace mfl::test
