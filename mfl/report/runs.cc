#include "mfl/report/runs.h"

#include <fmt/core.h>

#include <algorithm>
#include <sstream>
#include <utility>
#include <vector>

#include "mfl/report/table.h"

namespace mfl {
namespace {

std::optional<double> final_loss(const RunRow& run) {
  return run.summary ? std::optional(run.summary->final.train_loss) : std::nullopt;
}
std::optional<double> final_accuracy(const RunRow& run) {
  return run.summary ? run.summary->final.test_accuracy : std::nullopt;
}

using Fields = std::vector<std::pair<std::string, std::string>>;

Fields identity_fields(const RunRow& run) {
  Fields fields = {{"run", run.id}, {"name", run.name}, {"status", shown_status(run)}};
  if (!run.message.empty()) fields.emplace_back("message", run.message);
  fields.insert(fields.end(), {{"created", run.created},
                               {"owner", fmt::format("process {} on {}", run.owner.pid, run.owner.host)},
                               {"mfl version", run.mfl_version},
                               {"data", run.data},
                               {"model", run.model},
                               {"algorithm", run.algorithm},
                               {"precision", run.precision},
                               {"nodes", fmt::format("{}", run.nodes)},
                               {"eta", number_text(run.eta)},
                               {"gamma", number_text(run.gamma)},
                               {"tau", count_text(run.tau)},
                               {"planned steps", fmt::format("{}", run.planned_steps)},
                               {"config digest", run.config_digest},
                               {"data digest", run.data_digest},
                               {"problem", run.problem},
                               {"load seconds", number_text(run.load_seconds)},
                               {"wall seconds", number_text(run.wall_seconds)}});
  return fields;
}

Fields summary_fields(const RunSummary& summary) {
  Fields fields = {{"final step", fmt::format("{}", summary.final.step)},
                   {"final train loss", fmt::format("{:.17g}", summary.final.train_loss)},
                   {"final test loss", number_text(summary.final.test_loss)},
                   {"final test accuracy", number_text(summary.final.test_accuracy)},
                   {"best step", fmt::format("{}", summary.best.step)},
                   {"best train loss", fmt::format("{:.17g}", summary.best.train_loss)},
                   {"rounds", fmt::format("{}", summary.rounds)},
                   {"bytes up", bytes_text(summary.bytes_up)},
                   {"bytes down", bytes_text(summary.bytes_down)},
                   {"digest", summary.digest}};
  if (summary.virtual_seconds)
    fields.insert(fields.end() - 1, {"virtual time", seconds_text(summary.virtual_seconds)});
  return fields;
}

std::string indented(const std::string& text) {
  std::istringstream lines(text);
  std::string out;
  for (std::string line; std::getline(lines, line);)
    out += line.empty() ? "\n" : "  " + printable(line) + "\n";
  return out;
}

std::string records_text(std::span<const RecordRow> records) {
  std::vector<Column> columns = {
      {"step", Align::kRight},      {"round", Align::kRight},    {"train loss", Align::kRight},
      {"test loss", Align::kRight}, {"accuracy", Align::kRight}, {"up", Align::kRight},
      {"down", Align::kRight},      {"seconds", Align::kRight},  {"digest"}};
  const bool timed =
      std::ranges::any_of(records, [](const RecordRow& row) { return row.virtual_seconds.has_value(); });
  if (timed) columns.insert(columns.end() - 1, {"virtual time", Align::kRight});
  Table table(std::move(columns));
  for (const RecordRow& row : records) {
    std::vector<std::string> cells = {
        fmt::format("{}", row.step), fmt::format("{}", row.round),           number_text(row.train_loss),
        number_text(row.test_loss),  number_text(row.test_accuracy),         bytes_text(row.bytes_up),
        bytes_text(row.bytes_down),  fmt::format("{:.2f}", row.wall_seconds)};
    if (timed) cells.push_back(seconds_text(row.virtual_seconds));
    cells.push_back(digest_text(row.digest));
    table.add(std::move(cells));
  }
  return table.text();
}

// Of the rounds that have a virtual time.
std::string rounds_time_text(std::span<const RoundRow> rounds) {
  double seconds = 0, idle = 0;
  std::uint64_t timed = 0, chosen = 0, missed = 0, abandoned = 0;
  const RoundRow* longest = nullptr;
  for (const RoundRow& row : rounds) {
    if (!row.time || row.round == 0) continue;
    ++timed;
    seconds += row.time->seconds;
    idle += row.time->idle_share;
    chosen += row.time->chosen;
    missed += row.time->missed;
    abandoned += row.time->abandoned;
    if (longest == nullptr || row.time->seconds > longest->time->seconds) longest = &row;
  }
  if (timed == 0) return {};
  const auto count = static_cast<double>(timed);
  return fmt::format(
      "\nvirtual time of {} rounds\n  mean {}, longest {} (round {}), nodes idle {:.1f} %\n"
      "  {} nodes chosen, {} answers missed, {} attempts abandoned\n",
      timed, seconds_text(seconds / count), seconds_text(longest->time->seconds), longest->round,
      100 * idle / count, chosen, missed, abandoned);
}

}  // namespace

std::string shown_status(const RunRow& run) {
  return owner_lost(run) ? "killed" : std::string(run_status_name(run.status));
}

std::string runs_text(std::span<const RunRow> runs) {
  Table table({{"run"},
               {"created"},
               {"status"},
               {"name"},
               {"data"},
               {"model"},
               {"algorithm"},
               {"eta", Align::kRight},
               {"gamma", Align::kRight},
               {"tau", Align::kRight},
               {"nodes", Align::kRight},
               {"steps", Align::kRight},
               {"loss", Align::kRight},
               {"accuracy", Align::kRight},
               {"digest"}});
  for (const RunRow& run : runs)
    table.add({run.id, run.created, shown_status(run), run.name, run.data, run.model, run.algorithm,
               number_text(run.eta), number_text(run.gamma), count_text(run.tau),
               fmt::format("{}", run.nodes),
               fmt::format("{}", run.summary ? run.summary->final.step : run.planned_steps),
               number_text(final_loss(run)), number_text(final_accuracy(run)),
               digest_text(run.summary ? run.summary->digest : "")});
  return table.text();
}

Json runs_json(std::span<const RunRow> runs) {
  Json out = {{"runs", Json::array()}};
  for (const RunRow& run : runs) {
    Json one = run_json(run);
    one.erase("config");
    one["shown_status"] = shown_status(run);
    out["runs"].push_back(std::move(one));
  }
  return out.sorted();
}

std::string run_text(const RunExport& run, std::size_t last_records) {
  Fields fields = identity_fields(run.run);
  if (run.run.summary) {
    const Fields more = summary_fields(*run.run.summary);
    fields.insert(fields.end(), more.begin(), more.end());
  }
  std::string out;
  for (const auto& [name, value] : fields) {
    const std::string shown = printable(value);
    out += shown.empty() ? name + "\n" : fmt::format("{:<20}{}\n", name, shown);
  }
  out += "\nconfiguration\n" + indented(run.run.config);
  const std::size_t shown = std::min(last_records, run.records.size());
  out += fmt::format("\nrecords (last {} of {})\n", shown, run.records.size());
  out += records_text(std::span(run.records).last(shown));
  return run.rounds ? out + rounds_time_text(*run.rounds) : out;
}

Json show_json(const RunExport& run) {
  Json out = export_json(run);
  if (!run.run.summary || !run.run.summary->virtual_seconds) out.erase("rounds");
  out["run"]["shown_status"] = shown_status(run.run);
  return out.sorted();
}

}  // namespace mfl
