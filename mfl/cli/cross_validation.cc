#include "mfl/cli/cross_validation.h"

#include <fmt/core.h>

#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "mfl/cli/experiment_flags.h"
#include "mfl/cli/text.h"
#include "mfl/report/table.h"
#include "mfl/report/test_metrics.h"
#include "mfl/run/outcome_json.h"

namespace mfl::cli {
namespace {

// A number that every fold has, or none.
struct Measure {
  std::string name;  // for programs
  std::string title;
  std::function<std::optional<double>(const RunOutcome&)> of;
  std::function<std::string(double)> text;
};

std::string share_text(double share) { return percent_text(share); }
std::string number_text_of(double number) { return fmt::format("{:.6g}", number); }

std::optional<double> r2_of(const RunOutcome& run) {
  const auto numbers = read_test_numbers(run.test_metrics);
  return numbers ? numbers->r2 : std::nullopt;
}

std::optional<double> rmse_of(const RunOutcome& run) {
  const auto numbers = read_test_numbers(run.test_metrics);
  return numbers ? std::optional(numbers->rmse) : std::nullopt;
}

std::optional<double> auc_of(const RunOutcome& run) {
  const auto classes = read_test_metrics(run.test_metrics);
  return classes ? classes->auc : std::nullopt;
}

const std::vector<Measure>& measures() {
  static const std::vector<Measure> all = {
      {"train_loss", "train loss", [](const RunOutcome& run) { return run.final.train_loss; },
       number_text_of},
      {"test_loss", "test loss", [](const RunOutcome& run) { return run.final.test_loss; }, number_text_of},
      {"test_accuracy", "accuracy", [](const RunOutcome& run) { return run.final.test_accuracy; },
       share_text},
      {"roc_auc", "ROC AUC", auc_of, number_text_of},
      {"rmse", "RMSE", rmse_of, number_text_of},
      {"r2", "R^2", r2_of, number_text_of}};
  return all;
}

// Over the folds; the deviation is that of a sample (n - 1).
struct FoldSpread {
  double mean = 0, deviation = 0;
};

std::optional<FoldSpread> spread_over_folds(const Measure& measure, const std::vector<RunOutcome>& folds) {
  FoldSpread out;
  for (const RunOutcome& run : folds) {
    const auto value = measure.of(run);
    if (!value) return std::nullopt;
    out.mean += *value / static_cast<double>(folds.size());
  }
  for (const RunOutcome& run : folds) out.deviation += std::pow(*measure.of(run) - out.mean, 2);
  out.deviation = folds.size() < 2 ? 0 : std::sqrt(out.deviation / static_cast<double>(folds.size() - 1));
  return out;
}

}  // namespace

Reply cross_validation_reply(const Config& config, const std::vector<RunOutcome>& folds) {
  std::vector<std::pair<const Measure*, FoldSpread>> shown;
  for (const Measure& measure : measures())
    if (const auto spread = folds.empty() ? std::nullopt : spread_over_folds(measure, folds))
      shown.emplace_back(&measure, *spread);
  std::vector<Column> columns = {{"fold"}, {"run"}};
  for (const auto& [measure, spread] : shown) columns.push_back({measure->title, Align::kRight});
  Table table(columns);
  Reply reply;
  reply.data["folds"] = Json::array();
  for (const RunOutcome& run : folds) {
    std::vector<std::string> cells = {fmt::format("{}", run.config.data.fold.value_or(0)),
                                      run.run_id + (run.warnings.empty() ? "" : "!")};
    for (const auto& [measure, spread] : shown) cells.push_back(measure->text(*measure->of(run)));
    table.add(cells);
    reply.data["folds"].push_back(outcome_json(run));
    if (run.status != "done" && !reply.failure)
      reply.failure =
          Error{ErrorCode::kRunFailed, fmt::format("run {} {}", run.run_id, run.status),
                "repeat the command with --reuse: folds that are done are not trained again", nullptr};
  }
  if (folds.size() < config.data.folds && !reply.failure)
    reply.failure = Error{
        ErrorCode::kRunFailed, fmt::format("stopped after {} of {} folds", folds.size(), config.data.folds),
        "repeat the command with --reuse: folds that are done are not trained again", nullptr};
  for (const bool mean : {true, false}) {
    std::vector<std::string> cells = {mean ? "mean" : "deviation", ""};
    for (const auto& [measure, spread] : shown)
      cells.push_back(measure->text(mean ? spread.mean : spread.deviation));
    table.add(cells);
  }
  for (const auto& [measure, spread] : shown)
    reply.data[measure->name] = {{"mean", spread.mean}, {"deviation", spread.deviation}};
  reply.text = facts_text({{"setting", setting_text(folds.empty() ? config : folds.front().config)},
                           {"folds", fmt::format("{}", config.data.folds)}}) +
               "\n" + table.text(stdout_width());
  return reply;
}

}  // namespace mfl::cli
