#include "mfl/record/export.h"

#include <fmt/core.h>

#include <cmath>

namespace mfl {
namespace {

std::string csv_number(double value) { return fmt::format("{:.17g}", value); }
std::string csv_number(const std::optional<double>& value) {
  return value ? csv_number(*value) : std::string();
}

std::string csv_number(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

std::string csv_losses(const Losses& losses) {
  return fmt::format("{},{},{}", csv_number(losses.train_loss), csv_number(losses.batch_loss),
                     csv_number(losses.start_loss));
}

std::string time_fields(const std::optional<RoundTime>& time) {
  if (!time) return ",,,,,,";
  return fmt::format("{},{},{},{},{},{},{}", csv_number(time->total_seconds), csv_number(time->seconds),
                     csv_number(time->slowest_seconds), csv_number(time->idle_share), time->chosen,
                     time->missed, time->abandoned);
}

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }
Json number(std::uint64_t value) { return value; }

template <class T>
Json maybe(const std::optional<T>& value) {
  return value ? number(*value) : Json(nullptr);
}

}  // namespace

Result<RunExport> load_run(const Store& store, std::string_view id, bool with_rounds, bool with_nodes) {
  RunExport loaded;
  MFL_TRY(loaded.run, store.get(id));
  MFL_TRY(loaded.records, store.records(loaded.run.id));
  if (with_rounds) {
    MFL_TRY(loaded.rounds, store.rounds(loaded.run.id));
  }
  if (with_nodes) {
    MFL_TRY(loaded.nodes, store.nodes(loaded.run.id));
  }
  return loaded;
}

std::string records_csv(std::span<const RunExport> runs) {
  std::string csv =
      "run,step,round,train_loss,batch_loss,start_loss,test_loss,test_accuracy,bytes_up,bytes_down,"
      "wall_seconds,digest,virtual_seconds\n";
  for (const RunExport& one : runs)
    for (const RecordRow& row : one.records)
      csv += fmt::format("{},{},{},{},{},{},{},{},{},{},{}\n", one.run.id, row.step, row.round,
                         csv_losses(row.losses()), csv_number(row.test_loss), csv_number(row.test_accuracy),
                         row.bytes_up, row.bytes_down, csv_number(row.wall_seconds), row.digest,
                         csv_number(row.virtual_seconds));
  return csv;
}

std::string rounds_csv(std::span<const RunExport> runs) {
  std::string csv =
      "run,round,step,train_loss,batch_loss,start_loss,bytes_up,bytes_down,digest,virtual_seconds,"
      "round_seconds,slowest_seconds,idle_share,chosen,missed,abandoned\n";
  for (const RunExport& one : runs) {
    if (!one.rounds) continue;
    for (const RoundRow& row : *one.rounds)
      csv +=
          fmt::format("{},{},{},{},{},{},{},{}\n", one.run.id, row.round, row.step, csv_losses(row.losses()),
                      row.bytes_up, row.bytes_down, row.digest, time_fields(row.time));
  }
  return csv;
}

std::string nodes_csv(std::span<const RunExport> runs) {
  std::string csv =
      "run,round,node,weight,train_loss,batch_loss,start_loss,seconds,digest,metrics,committed\n";
  for (const RunExport& one : runs) {
    if (!one.nodes) continue;
    for (const NodeRow& row : *one.nodes)
      csv += fmt::format("{},{},{},{},{},{},{},{},{}\n", one.run.id, row.round, csv_number(row.node),
                         row.weight, csv_losses(row.losses()), csv_number(row.seconds), row.digest,
                         csv_number(row.metrics), row.committed ? utc_text(*row.committed) : "");
  }
  return csv;
}

Json warning_json(const RunWarning& warning) {
  return {{"id", warning.id}, {"step", warning.step}, {"message", warning.message}, {"hint", warning.hint}};
}

Json run_json(const RunRow& run) {
  Json out = {{"run_id", run.id},
              {"created", run.created},
              {"status", run_status_name(run.status)},
              {"message", run.message},
              {"name", run.name},
              {"config", run.config},
              {"config_digest", run.config_digest},
              {"data_digest", run.data_digest},
              {"problem", run.problem},
              {"mfl_version", run.mfl_version},
              {"data", run.data},
              {"model", run.model},
              {"algorithm", run.algorithm},
              {"precision", run.precision},
              {"nodes", run.nodes},
              {"eta", number(run.eta)},
              {"gamma", maybe(run.gamma)},
              {"tau", maybe(run.tau)},
              {"planned_steps", run.planned_steps},
              {"schema", Json::parse(run.data_schema).value_or(nullptr)},
              {"load_seconds", number(run.load_seconds)},
              {"wall_seconds", number(run.wall_seconds)},
              {"sampled", run.sampled},
              {"warnings", Json::array()},
              {"dropped", Json::array()},
              {"owner", {{"host", run.owner.host}, {"pid", run.owner.pid}}},
              {"final", nullptr},
              {"best", nullptr},
              {"rounds", nullptr},
              {"bytes_up", nullptr},
              {"bytes_down", nullptr},
              {"digest", nullptr},
              {"virtual_seconds", nullptr},
              {"test_metrics", nullptr}};
  for (const RunWarning& warning : run.warnings) out["warnings"].push_back(warning_json(warning));
  for (const RoundDrop& drop : run.drops)
    out["dropped"].push_back({{"created", drop.created},
                              {"first_round", drop.first},
                              {"last_round", drop.last},
                              {"reason", drop.reason}});
  if (!run.summary) return out;
  const RunSummary& summary = *run.summary;
  out["final"] = {{"step", summary.final.step},
                  {"train_loss", maybe(summary.final.train_loss)},
                  {"test_loss", maybe(summary.final.test_loss)},
                  {"test_accuracy", maybe(summary.final.test_accuracy)}};
  out["best"] = {{"step", summary.best.step}, {"train_loss", maybe(summary.best.train_loss)}};
  out["rounds"] = summary.rounds;
  out["bytes_up"] = summary.bytes_up;
  out["bytes_down"] = summary.bytes_down;
  out["digest"] = summary.digest;
  out["virtual_seconds"] = maybe(summary.virtual_seconds);
  out["test_metrics"] = Json::parse(summary.test_metrics).value_or(nullptr);
  return out;
}

Json record_json(const RecordRow& record) {
  return {{"step", record.step},
          {"round", record.round},
          {"train_loss", maybe(record.train_loss)},
          {"batch_loss", maybe(record.batch_loss)},
          {"start_loss", maybe(record.start_loss)},
          {"test_loss", maybe(record.test_loss)},
          {"test_accuracy", maybe(record.test_accuracy)},
          {"bytes_up", record.bytes_up},
          {"bytes_down", record.bytes_down},
          {"wall_seconds", number(record.wall_seconds)},
          {"digest", record.digest},
          {"virtual_seconds", maybe(record.virtual_seconds)}};
}

Json round_json(const RoundRow& round) {
  Json out = {{"round", round.round},
              {"step", round.step},
              {"train_loss", maybe(round.train_loss)},
              {"batch_loss", maybe(round.batch_loss)},
              {"start_loss", maybe(round.start_loss)},
              {"bytes_up", round.bytes_up},
              {"bytes_down", round.bytes_down},
              {"digest", round.digest},
              {"virtual_seconds", nullptr}};
  if (round.choice)
    out["choice"] = {{"tau", round.choice->tau},
                     {"rho", number(round.choice->rho)},
                     {"beta", number(round.choice->beta)},
                     {"delta", number(round.choice->delta)},
                     {"bound", number(round.choice->bound)},
                     {"step_seconds", number(round.choice->step_seconds)},
                     {"round_seconds", number(round.choice->round_seconds)}};
  if (!round.time) return out;
  const RoundTime& time = *round.time;
  out["virtual_seconds"] = number(time.total_seconds);
  out["round_seconds"] = number(time.seconds);
  out["slowest_seconds"] = number(time.slowest_seconds);
  out["idle_share"] = number(time.idle_share);
  out["chosen"] = time.chosen;
  out["missed"] = time.missed;
  out["abandoned"] = time.abandoned;
  return out;
}

Json node_json(const NodeRow& node) {
  return {{"round", node.round},
          {"node", node.node},
          {"weight", node.weight},
          {"train_loss", maybe(node.train_loss)},
          {"batch_loss", maybe(node.batch_loss)},
          {"start_loss", maybe(node.start_loss)},
          {"seconds", maybe(node.seconds)},
          {"digest", node.digest.empty() ? Json() : Json(node.digest)},
          {"metrics", node.metrics.empty() ? Json() : Json::parse(node.metrics).value_or(Json())},
          {"committed", node.committed ? Json(utc_text(*node.committed)) : Json()}};
}

Json export_json(const RunExport& run) {
  Json out = {{"run", run_json(run.run)}, {"records", Json::array()}};
  for (const RecordRow& record : run.records) out["records"].push_back(record_json(record));
  if (run.rounds) {
    out["rounds"] = Json::array();
    for (const RoundRow& round : *run.rounds) out["rounds"].push_back(round_json(round));
  }
  if (run.nodes) {
    out["nodes"] = Json::array();
    for (const NodeRow& node : *run.nodes) out["nodes"].push_back(node_json(node));
  }
  return out;
}

std::string export_json_text(std::span<const RunExport> runs) {
  Json out = {{"schema_version", 1}, {"runs", Json::array()}};
  for (const RunExport& run : runs) out["runs"].push_back(export_json(run));
  return out.sorted().dump(2) + "\n";
}

}  // namespace mfl
