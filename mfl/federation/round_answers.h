// The answers to a round's task: what one must be like, and all of an attempt together.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mfl/aggregate/accumulator.h"
#include "mfl/algorithm/rounds.h"
#include "mfl/engine/workers.h"
#include "mfl/federation/coordinator.h"
#include "mfl/federation/objections.h"
#include "mfl/federation/spare_buffers.h"

namespace mfl {

// The task of a round: steps from a State, or its loss alone (Work::kEvaluate). Not thread-safe; options and
// objections outlive it.
template <class T>
class RoundAnswers {
 public:
  RoundAnswers(const CoordinatorOptions& options, Objections& objections)
      : options_(options), objections_(objections) {}

  // Of a round with this work from the State; the memory of the round before is used again.
  void begin(const VectorLayout& layout, const State<T>& state, Work work);
  std::uint64_t most_bytes() const { return most_bytes_; }  // of the vectors of an answer

  // Adds an update of a node that joined with `weight`, if all of it is in order; an objection is noted.
  Verdict count(const std::string& node, std::uint64_t weight, Update update, const State<T>& state);
  // Nothing is counted.
  void clear();
  // Gives the memory back.
  void forget();

  // Of the vectors of what was counted, as they were sent.
  std::uint64_t bytes() { return sum_->bytes(); }
  Losses losses();                                                        // means of what was counted
  Metrics metrics() const { return sum_ ? sum_->metrics() : Metrics{}; }  // the same
  const std::map<std::string, NodeRow>& rows() const { return rows_; }    // by node
  // The updates as one, which uses them up.
  Aggregate<T>& aggregate(const State<T>& state);
  Workers& workers() { return *workers_; }  // of a round with steps
  std::string spare_buffer() { return spare_buffers_.take(); }

 private:
  Verdict check(std::uint64_t weight, const Update& update) const;
  // From what a node has sent to plain numbers.
  Verdict decode(std::string& payload, const State<T>& state) const;
  // Of a node that says so that the run diverges.
  Verdict not_finite(const std::string& node, const std::string& what);
  Verdict measure(const SentUpdate<T>& sent, const State<T>& state, UpdateSize& size);

  const CoordinatorOptions& options_;
  Objections& objections_;
  std::optional<VectorLayout> layout_;
  bool trains_ = false;
  std::vector<Block> blocks_;
  std::uint64_t most_bytes_ = 0;
  Losses wanted_;  // as zeros
  std::unique_ptr<Workers> workers_;
  ForEach run_;  // on the workers
  std::vector<SentVector> sent_;
  std::unique_ptr<Accumulator<T>> sum_;
  std::vector<Block> sum_blocks_;
  SpareBuffers spare_buffers_;
  Aggregate<T> aggregate_;  // its memory is the next round's
  std::map<std::string, NodeRow> rows_;
};

}  // namespace mfl
