// How a coordinator prepares its run: who is asked what before the first round (preparation.h), until when,
// what becomes of nodes that do not answer or claim what the others do not, and what is kept of the result.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "mfl/federation/coordinated_run.h"
#include "mfl/federation/preparation.h"
#include "mfl/federation/stage.h"

namespace mfl {

// Nothing is asked of nodes where nothing is to be measured. Not thread-safe; the run outlives it.
class PreparationStage final : public Stage {
 public:
  // Settled if an earlier process has settled it (CoordinatorOptions::prepared).
  explicit PreparationStage(CoordinatedRun& run);

  // Nodes are asked, or were.
  bool begun() const { return preparation_.has_value(); }
  // A ticket of this stage: what precedes the first round is round 0.
  bool has(const Ticket& ticket) const { return begun() && ticket.round == kPreparationRound; }
  // It has begun and is not settled.
  bool in_progress() const { return preparation_ && !preparation_->settled(); }
  // The node has what it needs for the rounds of the run. No node has while they may not start.
  bool ready(const std::string& node) const { return !preparation_ || preparation_->ready(node); }
  // As if nothing was measured where nothing is.
  const Prepared& result() const;
  // Whether the node's operator allows what this run needs; before the node decides anything about the run.
  Verdict check_withheld(const std::string& node, const Joining& joining) const;
  // All have left: the next advance() begins again.
  void forget() { preparation_.reset(); }

  std::string_view phase() const override { return "preparing"; }
  void join(const std::string& node, std::uint64_t weight) override;
  void leave(const std::string& node) override;
  bool awaits(const std::string& node) const override {
    return preparation_ && !preparation_->answered(node);
  }
  Ticket ticket(const std::string& node) const override;
  Assignment task(const std::string& node) const override;
  Verdict check(const std::string& node, const Ticket& ticket) const override;
  std::uint64_t most_bytes(const std::string& node) const override { return preparation_->most_bytes(node); }
  Verdict submit(const std::string& node, Update update) override;
  // For a run without a State: begins, with enough nodes, and continues as they answer.
  void advance() override;
  std::optional<Time> deadline() const override;

 private:
  bool begin();
  void await();
  void judge(const Outlier& claim);
  void judge_all();
  void drop_silent();
  void keep();

  CoordinatedRun& run_;
  std::optional<Preparation> preparation_;
  Time deadline_{0};
};

}  // namespace mfl
