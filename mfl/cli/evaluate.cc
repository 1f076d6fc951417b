#include <fmt/core.h>

#include <memory>

#include "mfl/cli/model_flags.h"
#include "mfl/cli/text.h"
#include "mfl/model/score_metrics.h"
#include "mfl/report/test_metrics.h"
#include "mfl/trained/labelled_rows.h"
#include "mfl/trained/predictor.h"

namespace mfl::cli {
namespace {

struct EvaluateArguments {
  ModelFlags model;
  RowsFlags rows;
};

Result<Reply> evaluate_command(const EvaluateArguments& args) {
  MFL_TRY(TrainedModel found, args.model.find());
  MFL_TRY(const Predictor predictor, Predictor::make(std::move(found)));
  const TrainedModel& model = predictor.model();
  MFL_TRY(const DataOptions options,
          args.rows.options(model.schema.label.empty() ? "last" : model.schema.label));
  MFL_TRY(Dataset rows, labelled_rows(options, model.schema));
  MFL_TRY(const ScoredRows scored, predictor.score(std::move(rows)));
  const std::size_t samples = scored.targets.size();
  const TestLabels labels =
      test_labels(model.schema, entry_of(model).targets, scored.scores.size() / samples);
  const ScoreMetrics metrics = evaluate_scores(scored.scores, scored.targets, labels);
  const std::string metrics_json = metrics_text(metrics, labels);
  std::optional<double> accuracy;
  if (labels.has_accuracy) accuracy = static_cast<double>(scored.correct) / static_cast<double>(samples);

  Reply reply;
  reply.data = {{"run", model.run},
                {"digest", model.digest},
                {"data", options.source},
                {"samples", samples},
                {"loss", scored.loss},
                {"accuracy", accuracy},
                {"metrics", to_json(metrics, labels)}};
  const auto tested = read_test_metrics(metrics_json);
  Facts facts = {{"model", fmt::format("{}{}", model.model, model.run.empty() ? "" : " of run " + model.run)},
                 {"data", fmt::format("{}, {} samples", options.source, samples)},
                 {"loss", loss_text(scored.loss)},
                 {"accuracy", percent_text(accuracy) + (tested ? top_text(*tested) : "")}};
  add_metrics(facts, metrics_json);
  facts.emplace_back("digest", model.digest);
  reply.text = facts_text(facts) + class_tables_text(metrics_json);
  return reply;
}

}  // namespace

void setup_evaluate(Command& mfl, Commands& commands) {
  const auto args = std::make_shared<EvaluateArguments>();
  Command& command = commands.add(
      mfl, "evaluate", "Judge a trained model on data with labels: loss, accuracy and metrics by class",
      "  mfl evaluate latest --data csv:my.csv\n"
      "  mfl evaluate model.npz --data csv:my.csv --label label --json\n"
      "The label column is that of the model unless --label names another.",
      [args] { return evaluate_command(*args); });
  args->model.add(command);
  args->rows.add(command);
}

}  // namespace mfl::cli
