// What a federation measures of its nodes' data before the first round, each part only where the run needs it:
//
//   1. every node sends the exact sums of its columns and the number of its samples of each class (Work::kMeasure);
//   2. every node is sent the means, deviations and class weights that these sums make, and answers with the smoothness of its loss
//      (Work::kPrepare);
//   3. the step size is that of the least smooth node.
//
// A model that trainers of the nodes train starts where they say: every node sends the weights of its trainer (Work::kInitialise), and the
// run starts from those of the first node by name.
//
// All that are connected take part; whoever joins or leaves before the end changes who they are, and 1 is done again with the others'
// sums kept. Afterwards only newcomers are prepared, with what is settled. The bits are those of a simulation with the same nodes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mfl/aggregate/column_sums.h"
#include "mfl/federation/messages.h"

namespace mfl {

struct PreparationNeeds {
  bool intercept = false;  // the model has one; nothing is measured for it
  Standardise standardise = Standardise::kNone;
  bool class_weights = false;
  bool step_size = false;
  bool known_means = false;  // means and deviations are those of the schema, and nodes are told
  std::size_t initial_weights =
      0;  // bytes of a number of w, which a trainer initialises; 0: nothing of all this

  bool sums() const { return standardise != Standardise::kNone || class_weights; }
  bool any() const { return sums() || step_size || known_means || initial_weights != 0; }
};

// What was settled.
struct Prepared {
  Preprocessing preprocessing;  // as measured
  double eta = 0;               // 0: that of the experiment
  std::vector<std::size_t> constant_columns = {};
  std::string initial_weights = {};  // little-endian numbers; empty: the model decides
  bool differ = false;               // nodes sent different ones
};

// The work of a node's task, without what all tasks have.
struct PreparationTask {
  Work work = Work::kMeasure;
  std::string digest;  // of the payload
  std::vector<Block> blocks;
  std::shared_ptr<const std::string> payload;
};

// The blocks and numbers of kPrepare, and back. Takes any bytes; kNetwork for those of another shape.
std::string encode_preprocessing(const Preprocessing& preprocessing, std::vector<Block>& blocks);
Result<void> decode_preprocessing(std::string_view payload, const std::vector<Block>& blocks,
                                  Preprocessing& to);
inline constexpr const char* kSumsEncoding = "exact-sums";
inline constexpr const char* kSmoothness = "smoothness";

// Not thread-safe.
class Preparation {
 public:
  // For a run of this schema, whose columns are known. step_size_of(smoothness) is the step size of a run whose least smooth node has it.
  Preparation(const PreparationNeeds& needs, const Schema& schema, double (*step_size_of)(double));
  // For one that was settled by an earlier process.
  Preparation(const Schema& schema, Prepared settled);

  void join(const std::string& node, std::uint64_t samples);
  void leave(const std::string& node);

  bool settled() const { return settled_; }
  const Prepared& result() const { return result_; }
  // Whether a node has what it needs for the rounds of a settled run.
  bool ready(const std::string& node) const { return settled_ && answered(node); }
  // Whether the stage in progress has the answer of a node that is connected.
  bool answered(const std::string& node) const;

  // Grows with every stage: the attempt of its tickets.
  std::uint64_t stage() const { return stage_; }
  // Of the stage in progress.
  const PreparationTask& task() const { return task_; }
  // Upper bound on the bytes of an answer.
  std::uint64_t most_bytes() const;
  Verdict submit(const std::string& node, const Update& update);

  // Moves on once all that are connected have answered. True when that has settled it.
  Result<bool> advance();

 private:
  struct Member {
    std::uint64_t samples = 0;
    std::string sums;                    // packed; empty: not sent yet
    std::optional<double> smoothness{};  // in the stage in progress
    std::string weights{};               // of its trainer; empty: not sent yet
  };

  void measure();
  Result<void> prepare();
  Verdict take_sums(Member& member, const Update& update) const;
  Verdict take_weights(Member& member, const Update& update) const;

  PreparationNeeds needs_;
  std::uint64_t columns_, classes_;
  double (*step_size_of_)(double) = nullptr;
  std::map<std::string, Member> members_;
  bool settled_ = false;
  Prepared result_;
  std::uint64_t stage_ = 0;
  PreparationTask task_;
};

}  // namespace mfl
