#include "mfl/federation/preparation_stage.h"

#include <fmt/format.h>

#include <utility>

namespace mfl {

PreparationStage::PreparationStage(CoordinatedRun& run) : run_(run) {
  const CoordinatorOptions& options = run.options;
  if (!options.prepared) return;
  preparation_.emplace(options.prepared_needs, run.shape.whole_schema(), options.step_size_of,
                       options.on_outlier, *options.prepared);
}

const Prepared& PreparationStage::result() const {
  static const Prepared kNothing;
  return preparation_ ? preparation_->result() : kNothing;
}

Verdict PreparationStage::check_withheld(const std::string& node, const Joining& joining) const {
  const auto refuse = [&](std::string_view what, std::string_view name) -> Verdict {
    return {Reason::kConfig,
            fmt::format("this run {}, and {} does not allow that: its operator must add {} to "
                        "--allow, or leave --allow out",
                        what, node, name)};
  };
  const auto withholds = [&](Work work) { return std::ranges::count(joining.withheld, work) != 0; };
  if (withholds(Work::kTrain)) return refuse("trains at its nodes", "train");
  if (!withholds(Work::kMeasure) || !run_.options.needs) return {};
  RunShape tried = run_.shape;
  Verdict verdict = tried.join(node, joining);
  if (!verdict.counts()) return verdict;
  const PreparationNeeds needs =
      run_.options.prepared ? run_.options.prepared_needs : run_.options.needs(tried.schema());
  return needs.sums() ? refuse("needs the sums of its nodes' columns", "measure") : Verdict{};
}

void PreparationStage::await() {
  deadline_ = run_.now + run_.options.round_deadline;
  ++run_.version;
}

void PreparationStage::join(const std::string& node, std::uint64_t weight) {
  if (!preparation_) return;
  preparation_->join(node, weight);
  await();
}

void PreparationStage::leave(const std::string& node) {
  if (!preparation_) return;
  preparation_->leave(node);
  if (!in_progress()) return;
  await();
  run_.report.set_trouble("");  // it may have been this node's
}

Ticket PreparationStage::ticket(const std::string& node) const {
  return {run_.options.epoch, kPreparationRound, preparation_->attempt(), preparation_->stage(node)};
}

Assignment PreparationStage::task(const std::string& node) const {
  const PreparationTask& task = preparation_->task(node);
  return {run_.options.run_id, ticket(node), 0, task.digest, task.blocks, 0, task.payload, task.work};
}

Verdict PreparationStage::check(const std::string& node, const Ticket& ticket) const {
  const Ticket now = this->ticket(node);
  if (ticket.epoch != now.epoch || ticket.attempt != now.attempt)
    return {Reason::kStale, "this is no longer to be measured", true};
  if (Verdict verdict = check_stage(ticket, now.stage); !verdict.counts()) return verdict;
  if (preparation_->answered(node)) return {Reason::kDuplicate, "answered before"};
  return {};
}

Verdict PreparationStage::submit(const std::string& node, Update update) {
  Verdict verdict = preparation_->submit(node, update);
  judge_all();  // a newcomer
  if (verdict.reason == Reason::kOutlier || verdict.reason == Reason::kNotFinite)
    judge({node, fmt::format("{}: {}", node, verdict.text)});
  ++run_.version;
  return verdict;
}

void PreparationStage::judge(const Outlier& claim) {
  const OnOutlier on_outlier = run_.options.on_outlier;
  if (on_outlier == OnOutlier::kExclude && in_progress() && !claim.node.empty()) {
    run_.members.exclude(claim.node, claim.text);
    run_.report.warnings().outlier(claim.node, excluded_text(claim.text));
    preparation_->leave(claim.node);
    await();
  } else if (on_outlier == OnOutlier::kWarn || !in_progress()) {
    run_.report.warnings().outlier(claim.node, claim.text);
  } else {
    run_.report.set_trouble(
        fmt::format("before the first round: {}; fix the data or revoke the node, or start the server with "
                    "--on-outlier exclude or warn",
                    claim.text));
  }
}

void PreparationStage::judge_all() {
  const std::vector<Outlier> claims = preparation_->outliers();  // excluding a node changes them
  for (const Outlier& claim : claims) judge(claim);
}

bool PreparationStage::begin() {
  if (!run_.options.needs) return false;
  const PreparationNeeds needs = run_.options.needs(run_.shape.schema());
  Preprocessing preprocessing = run_.shape.schema().preprocessing;
  preprocessing.intercept = needs.intercept;
  run_.shape.set_preprocessing(std::move(preprocessing));
  if (!needs.any()) return false;
  preparation_.emplace(needs, run_.shape.whole_schema(), run_.options.step_size_of, run_.options.on_outlier);
  for (const auto& [node, member] : run_.members.list()) preparation_->join(node, member.weight);
  await();
  return true;
}

void PreparationStage::advance() {
  if ((!preparation_ && !begin()) || preparation_->settled()) return;
  if (run_.now >= deadline_) drop_silent();
  if (run_.members.size() < run_.members.needed()) return;
  const std::uint64_t stage = preparation_->stage();
  const auto settled = preparation_->advance();
  if (!settled) return run_.stop_with(settled.error());
  if (preparation_->stage() != stage) await();
  judge_all();
  if (*settled) keep();
}

void PreparationStage::keep() {
  const Prepared& result = preparation_->result();
  RunWarnings& warnings = run_.report.warnings();
  run_.report.set_trouble("");
  ++run_.version;
  run_.measured = run_.members.names();
  if (run_.measured.size() < run_.options.nodes) warnings.measured_by(run_.measured, run_.options.nodes);
  if (!result.initial_weights.empty()) {  // kept with the first round: until then they can be asked for again
    if (result.differ) warnings.different_starts(run_.measured.front());
    return;
  }
  run_.shape.set_preprocessing(result.preprocessing);
  if (auto kept = run_.log.prepare(run_.kept_schema(), result.eta); !kept)
    return run_.stop_with(std::move(kept).error());
  run_.schema_kept = true;
  run_.eta = result.eta;
  if (!result.constant_columns.empty())
    warnings.constant_features(run_.shape.schema(), result.constant_columns);
}

void PreparationStage::drop_silent() {
  std::vector<std::string> silent;
  for (const auto& [node, member] : run_.members.list())
    if (!preparation_->answered(node)) silent.push_back(node);
  for (const std::string& node : silent) {
    run_.members.quarantine().fail(run_.now, node, "no answer to what precedes the first round");
    run_.members.remove(node);
    preparation_->leave(node);
  }
  if (!silent.empty())
    run_.report.set_trouble(fmt::format("before the first round: no answer from {}", some_of(silent)));
  await();
}

std::optional<Time> PreparationStage::deadline() const {
  return in_progress() && run_.members.size() != 0 ? std::optional(deadline_) : std::nullopt;
}

}  // namespace mfl
