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
// sums kept. Afterwards only newcomers are measured and prepared, with what is settled. The bits are those of a simulation with the same
// nodes.
//
// What a node says is refused where no data could make it true, and then compared with what the others say (claims.h).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mfl/aggregate/column_sums.h"
#include "mfl/federation/claims.h"
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

// The blocks and numbers of kPrepare, and back. Takes any bytes; kNetwork for what does not fit the schema: each part at most once, as long as
// the schema has columns or classes, with deviations and weights above 0.
std::string encode_preprocessing(const Preprocessing& preprocessing, std::vector<Block>& blocks);
Result<void> decode_preprocessing(std::string_view payload, const std::vector<Block>& blocks,
                                  const Schema& schema, Preprocessing& to);
// In the schema that a store has: the names of the nodes that were measured, where they are fewer than the federation has.
inline constexpr const char* kMeasuredBy = "measured_by";
inline constexpr const char* kExcluded = "excluded";  // beside it: nodes that are no members, and why
inline constexpr const char* kSumsEncoding = "exact-sums";
inline constexpr const char* kSmoothness = "smoothness";

// Not thread-safe.
class Preparation {
 public:
  // For a run of this schema, whose columns are known. step_size_of(smoothness) is the step size of a run whose least smooth node has it.
  Preparation(const PreparationNeeds& needs, const Schema& schema, double (*step_size_of)(double),
              OnOutlier on_outlier = OnOutlier::kRefuse);
  // For one that was settled by an earlier process.
  Preparation(const PreparationNeeds& needs, const Schema& schema, double (*step_size_of)(double),
              OnOutlier on_outlier, Prepared settled);

  void join(const std::string& node, std::uint64_t samples);
  void leave(const std::string& node);

  bool settled() const { return settled_; }
  const Prepared& result() const { return result_; }
  // Whether a node has what it needs for the rounds of a settled run.
  bool ready(const std::string& node) const { return settled_ && answered(node); }
  // Whether the stage in progress has the answer of a node that is connected.
  bool answered(const std::string& node) const;

  // Grows whenever it is begun again, and for newcomers once it is settled.
  std::uint64_t attempt() const { return attempt_ + (settled_ ? 1 : 0); }
  // The place of a node's task in the list above, from 0.
  std::uint64_t stage(const std::string& node = {}) const {
    return task(node).work == Work::kPrepare ? 1 : 0;
  }
  // Of the stage in progress, or of a newcomer.
  const PreparationTask& task(const std::string& node = {}) const {
    return is_measured_late(node) ? measure_task_ : task_;
  }
  // Upper bound on the bytes of an answer.
  std::uint64_t most_bytes(const std::string& node = {}) const;
  // kNotFinite or kOutlier for claims that no data makes true, and of a newcomer for those that are unlike the others'.
  Verdict submit(const std::string& node, const Update& update);

  // Moves on once all that are connected have answered. True when that has settled it. Not past outliers, unless they are only warned of.
  Result<bool> advance();
  // Of the stage in progress or, where they are only warned of, of all stages so far.
  const std::vector<Outlier>& outliers() const { return outliers_; }

 private:
  struct Member {
    std::uint64_t samples = 0;
    std::string sums;                    // packed; empty: not sent yet
    std::optional<double> smoothness{};  // in the stage in progress
    std::string weights{};               // of its trainer; empty: not sent yet
    ColumnMoments moments{};             // of the sums, where columns are standardised
  };

  void measure();
  Result<void> prepare();
  Verdict take_sums(const std::string& node, Member& member, const Update& update);
  Verdict take_weights(Member& member, const Update& update) const;
  Verdict take_smoothness(const std::string& node, Member& member, const Update& update);
  Verdict judge_late(const std::string& node, std::optional<std::string> fault);
  bool is_measured_late(const std::string& node) const;
  std::vector<Outlier> compare() const;

  PreparationNeeds needs_;
  Schema schema_;
  OnOutlier on_outlier_;
  std::uint64_t columns_, classes_;
  double (*step_size_of_)(double) = nullptr;
  std::map<std::string, Member> members_;
  bool settled_ = false;
  Prepared result_;
  std::uint64_t attempt_ = 0;
  PreparationTask task_, measure_task_;
  bool compared_ = false;  // in this stage
  std::vector<Outlier> outliers_;
};

}  // namespace mfl
