#include "mfl/run/outcome_json.h"

#include "mfl/config/config_keys.h"
#include "mfl/record/export.h"

namespace mfl {

Json config_json(const Config& config) {
  Json out = Json::object();
  for (const Key& key : config_keys()) {
    const std::string text = key.get(config);
    // A TOML number is a JSON number, a TOML basic string a JSON string.
    out[std::string(key.table)][std::string(key.key)] = Json::parse(text).value_or(text);
  }
  return out;
}

namespace {

Json warnings_json(const std::vector<RunWarning>& warnings) {
  Json out = Json::array();
  for (const RunWarning& warning : warnings) out.push_back(warning_json(warning));
  return out;
}

}  // namespace

Json outcome_json(const RunOutcome& run) {
  return {{"run_id", run.run_id},
          {"status", run.status},
          {"message", run.message},
          {"reused", run.reused},
          {"config", config_json(run.config)},
          {"schema", Json::parse(schema_json(run.schema)).value_or(nullptr)},
          {"label_column", run.label_column == 0 ? Json(nullptr) : Json(run.label_column)},
          {"header_guessed", run.header_guessed},
          {"final",
           {{"step", run.final.step},
            {"train_loss", run.final.train_loss},
            {"test_loss", run.final.test_loss},
            {"test_accuracy", run.final.test_accuracy}}},
          {"best", {{"step", run.best_step}, {"train_loss", run.best_train_loss}}},
          {"rounds", run.rounds},
          {"bytes_up", run.bytes_up},
          {"bytes_down", run.bytes_down},
          {"load_seconds", run.load_seconds},
          {"wall_seconds", run.wall_seconds},
          {"virtual_seconds", run.virtual_seconds},
          {"digest", run.digest},
          {"test_metrics", Json::parse(run.test_metrics).value_or(nullptr)},
          {"warnings", warnings_json(run.warnings)}};
}

}  // namespace mfl
