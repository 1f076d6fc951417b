#include "mfl/record/older_losses.h"

#include <fmt/core.h>

namespace mfl {
namespace {

constexpr std::string_view kTablesWithLosses[] = {"runs", "rounds", "records", "nodes", "dropped_rounds"};

// Columns that a version lacks, for the end of a list.
std::string lacking(std::int64_t version, std::string_view table) {
  std::string out;
  const auto add = [&](std::int64_t since, std::string_view columns) {
    if (version < since) out += columns;
  };
  if (table == "runs") {
    add(2, ", NULL AS virtual_seconds");
    add(3, ", NULL AS warnings, 0 AS sampled, NULL AS data_schema");
    add(5, ", NULL AS test_metrics");
  } else if (table == "rounds") {
    add(2,
        ", NULL AS virtual_seconds, NULL AS round_seconds, NULL AS slowest_seconds, NULL AS idle_share, "
        "NULL AS chosen, NULL AS missed, NULL AS abandoned");
  } else if (table == "records") {
    add(2, ", NULL AS virtual_seconds");
  } else if (table == "nodes") {
    add(9, ", NULL AS digest, NULL AS metrics");
  }
  return out;
}

std::string source_of(std::int64_t version, std::string_view schema, std::string_view table) {
  if (version < 6 && table == "nodes")
    return "(SELECT 0 AS run, 0 AS round, '' AS node, 0 AS weight, 0 AS loss, NULL AS seconds, "
           "NULL AS digest, NULL AS metrics WHERE 0)";
  if (version < 4 && table == "dropped_rounds")
    return "(SELECT 0 AS run, 0 AS number, 0 AS round, 0 AS step, 0 AS train_loss, 0 AS bytes_up, "
           "0 AS bytes_down, NULL AS digest WHERE 0)";
  return fmt::format("(SELECT *{} FROM {}.{})", lacking(version, table), schema, table);
}

// Of each run: `batches`, whether losses in passing were over them; `every`, the rounds between losses over all samples; `elsewhere`,
// whether nodes started elsewhere than at w; `ending`, the round whose loss is F(w) because the run was done.
std::string kinds_of(std::string_view schema) {
  const auto number = [](std::string_view key) {
    return fmt::format(
        "iif(instr(config, char(10) || '{0} = ') = 0, 0, CAST(substr(config, instr(config, char(10) || "
        "'{0} = ') + {1}) AS INTEGER))",
        key, key.size() + 4);
  };
  return fmt::format(
      "(SELECT number AS of_run, {} > 0 AS batches, {} AS every, algorithm LIKE '%acg%' OR config LIKE "
      "'%server_step = \"lookahead%' AS elsewhere, iif(status = 'done', rounds, -1) AS ending FROM {}.runs)",
      number("batch_size"), number("evaluate_every"), schema);
}

// Conditions on a row whose State has had so many rounds.
std::string evaluated(std::string_view round) {
  return fmt::format("(every > 0 AND ({0}) % max(every, 1) = 0)", round);
}
std::string over_batches(std::string_view round) {
  return fmt::format("(batches AND NOT {} AND ({}) <> ending)", evaluated(round), round);
}
std::string of_start(std::string_view round) {
  return fmt::format("(elsewhere AND NOT {} AND ({}) <> ending)", over_batches(round), round);
}

// The three columns of a row with the loss `value`; `before` is SQL for that of the row before it.
std::string sorted_losses(std::string_view round, std::string_view value, const std::string& before) {
  return fmt::format(
      "iif({0} OR {1}, NULL, {2}) AS train_loss, {3} AS batch_loss, iif({1}, {2}, NULL) AS start_loss",
      over_batches(round), of_start(round), value, before);
}

std::string view_sql(std::int64_t version, std::string_view schema, std::string_view prefix,
                     std::string_view table) {
  const std::string from =
      fmt::format("{} AS t LEFT JOIN kinds ON of_run = t.run", source_of(version, schema, table));
  const std::string before = fmt::format(
      "iif({}, (SELECT p.train_loss FROM {}.rounds AS p WHERE p.run = t.run AND p.round = t.round - 1), "
      "NULL)",
      over_batches("t.round - 1"), schema);
  std::string columns;
  if (table == "rounds")
    columns = "t.run, t.round, t.step, " + sorted_losses("t.round", "t.train_loss", before) +
              ", t.bytes_up, t.bytes_down, t.digest, t.virtual_seconds, t.round_seconds, t.slowest_seconds, "
              "t.idle_share, t.chosen, t.missed, t.abandoned";
  else if (table == "records")
    columns = "t.run, t.step, t.round, " + sorted_losses("t.round", "t.train_loss", before) +
              ", t.test_loss, t.test_accuracy, t.bytes_up, t.bytes_down, t.wall_seconds, t.digest, "
              "t.virtual_seconds";
  else if (table == "dropped_rounds")
    columns = "t.run, t.number, t.round, t.step, " + sorted_losses("t.round", "t.train_loss", "NULL") +
              ", t.bytes_up, t.bytes_down, t.digest";
  else if (table == "nodes")
    columns = "t.run, t.round, t.node, t.weight, " +
              sorted_losses("t.round - 1", "t.loss",
                            fmt::format("iif({}, t.loss, NULL)", over_batches("t.round - 1"))) +
              ", t.seconds, t.digest, t.metrics, NULL AS committed";
  if (table != "runs")
    return fmt::format("CREATE TEMP VIEW {}{} AS WITH kinds AS MATERIALIZED {} SELECT {} FROM {};\n", prefix,
                       table, kinds_of(schema), columns, from);
  const std::string not_last = fmt::format("({} OR {})", over_batches("t.rounds"), of_start("t.rounds"));
  constexpr std::string_view kByOther = "((batches AND every = 0) OR elsewhere)";
  return fmt::format(
      "CREATE TEMP VIEW {}runs AS WITH kinds AS MATERIALIZED {} SELECT number, id, created, status, message, "
      "name, config, config_digest, data_digest, problem, mfl_version, data, model, algorithm, precision, "
      "nodes, eta, gamma, tau, planned_steps, load_seconds, host, pid, process_start, wall_seconds, "
      "final_step, iif({}, NULL, final_train_loss) AS final_train_loss, final_test_loss, "
      "final_test_accuracy, iif({}, final_step, best_step) AS best_step, iif({}, NULL, best_train_loss) AS "
      "best_train_loss, rounds, bytes_up, bytes_down, digest, virtual_seconds, warnings, sampled, "
      "data_schema, test_metrics FROM {} AS t LEFT JOIN kinds ON of_run = number;\n",
      prefix, kinds_of(schema), not_last, kByOther, kByOther, source_of(version, schema, "runs"));
}

}  // namespace

std::span<const std::string_view> tables_with_losses() { return kTablesWithLosses; }

std::string views_of_older_losses(std::int64_t version, std::string_view schema, std::string_view prefix) {
  std::string out;
  for (const std::string_view table : kTablesWithLosses) out += view_sql(version, schema, prefix, table);
  return out;
}

}  // namespace mfl
