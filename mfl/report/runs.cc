#include "mfl/report/runs.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <sstream>
#include <utility>
#include <vector>

#include "mfl/base/nearest.h"
#include "mfl/report/brief_names.h"
#include "mfl/report/table.h"
#include "mfl/report/test_metrics.h"

namespace mfl {
namespace {

std::optional<double> listed_final_loss(const RunRow& run) {
  return run.summary ? run.summary->final.train_loss : std::nullopt;
}
std::optional<double> final_accuracy(const RunRow& run) {
  return run.summary ? run.summary->final.test_accuracy : std::nullopt;
}

constexpr std::size_t kListWidth = 100;

// Numbers of at most eight characters.
std::string narrow_text(double value) { return fmt::format("{:.3g}", value); }
std::string narrow_count(const std::optional<std::uint64_t>& value) {
  constexpr std::uint64_t kWide = 10'000'000;
  return value && *value >= kWide ? fmt::format("{:.2e}", static_cast<double>(*value)) : count_text(value);
}

// "01-31 09:30" of "2025-01-31T09:30:00Z".
std::string minute_text(const std::string& created) {
  return created.size() < 16 ? created : created.substr(5, 5) + " " + created.substr(11, 5);
}

using Fields = std::vector<std::pair<std::string, std::string>>;

Fields identity_fields(const RunRow& run) {
  Fields fields = {{"run", run.id}, {"name", run.name}, {"status", shown_status(run)}};
  if (!run.message.empty()) fields.emplace_back("message", run.message);
  for (const RunWarning& warning : run.warnings)
    fields.emplace_back("warning", fmt::format("{} ({})", warning.message, warning.hint));
  for (const RoundDrop& drop : run.drops) fields.emplace_back("dropped", drop_text(drop));
  if (run.status == RunStatus::kRunning)
    fields.emplace_back("owner", fmt::format("process {} on {}", run.owner.pid, run.owner.host));
  fields.insert(fields.end(), {{"created", run.created},
                               {"mfl version", run.mfl_version},
                               {"data", run.data},
                               {"schema", schema_line(run.data_schema)},
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

std::string whole_loss_text(const std::optional<double>& loss) {
  return loss ? fmt::format("{:.17g}", *loss) : "not measured";
}

Fields summary_fields(const RunSummary& summary) {
  Fields fields = {{"final step", fmt::format("{}", summary.final.step)},
                   {"final train loss", whole_loss_text(summary.final.train_loss)},
                   {"final test loss", number_text(summary.final.test_loss)},
                   {"final test accuracy", percent_text(summary.final.test_accuracy)},
                   {"best step", fmt::format("{}", summary.best.step)},
                   {"best train loss", whole_loss_text(summary.best.train_loss)},
                   {"rounds", fmt::format("{}", summary.rounds)},
                   {"bytes up", bytes_text(summary.bytes_up)},
                   {"bytes down", bytes_text(summary.bytes_down)},
                   {"digest of w", summary.digest}};
  Fields more;
  if (const auto tested = read_test_metrics(summary.test_metrics); tested && tested->top)
    more.emplace_back(fmt::format("top {} accuracy", tested->top->k), percent_text(tested->top->accuracy));
  for (auto& line : metric_lines(summary.test_metrics)) more.push_back(std::move(line));
  fields.insert(std::ranges::find(fields, "best step", &Fields::value_type::first), more.begin(), more.end());
  if (summary.virtual_seconds)
    fields.insert(fields.end() - 1, {"virtual time", seconds_text(summary.virtual_seconds)});
  return fields;
}

std::string tested_text(const RunRow& run) {
  const auto tested = run.summary ? read_test_metrics(run.summary->test_metrics) : std::nullopt;
  if (!tested) return {};
  std::string out = "\ntest set by class\n" + classes_text(*tested);
  const std::string matrix = confusion_text(*tested);
  if (!matrix.empty()) out += "\n" + matrix;
  return out;
}

std::string indented(const std::string& text) {
  std::istringstream lines(text);
  std::string out;
  for (std::string line; std::getline(lines, line);)
    out += line.empty() ? "\n" : "  " + printable(line) + "\n";
  return out;
}

struct ShownLoss {
  const char* title;
  std::optional<double> RecordRow::*loss;
};

// The losses that some record has.
std::vector<ShownLoss> shown_losses(std::span<const RecordRow> records) {
  std::vector<ShownLoss> out;
  for (const ShownLoss& one :
       {ShownLoss{"train loss", &RecordRow::train_loss}, ShownLoss{"batch loss", &RecordRow::batch_loss},
        ShownLoss{"start loss", &RecordRow::start_loss}})
    if (std::ranges::any_of(records, [&](const RecordRow& row) { return (row.*one.loss).has_value(); }))
      out.push_back(one);
  return out;
}

std::string records_text(std::span<const RecordRow> records) {
  std::vector<Column> columns = {{"step", Align::kRight},      {"round", Align::kRight},
                                 {"test loss", Align::kRight}, {"accuracy", Align::kRight},
                                 {"up", Align::kRight},        {"down", Align::kRight},
                                 {"seconds", Align::kRight},   {"state digest"}};
  const bool timed =
      std::ranges::any_of(records, [](const RecordRow& row) { return row.virtual_seconds.has_value(); });
  if (timed) columns.insert(columns.end() - 1, {"virtual time", Align::kRight});
  const std::vector<ShownLoss> losses = shown_losses(records);
  for (std::size_t i = 0; i < losses.size(); ++i)
    columns.insert(columns.begin() + 2 + static_cast<std::ptrdiff_t>(i), {losses[i].title, Align::kRight});
  Table table(std::move(columns));
  for (const RecordRow& row : records) {
    std::vector<std::string> cells = {fmt::format("{}", row.step),
                                      fmt::format("{}", row.round),
                                      number_text(row.test_loss),
                                      percent_text(row.test_accuracy),
                                      bytes_text(row.bytes_up),
                                      bytes_text(row.bytes_down),
                                      fmt::format("{:.2f}", row.wall_seconds)};
    if (timed) cells.push_back(seconds_text(row.virtual_seconds));
    cells.push_back(digest_text(row.digest));
    for (std::size_t i = 0; i < losses.size(); ++i)
      cells.insert(cells.begin() + 2 + static_cast<std::ptrdiff_t>(i), number_text(row.*losses[i].loss));
    table.add(std::move(cells));
  }
  return table.text();
}

// Text about the rounds whose tau was chosen: the first ones and the last.
std::string choices_text(std::span<const RoundRow> rounds) {
  constexpr std::size_t kMost = 10;
  std::vector<const RoundRow*> chosen;
  for (const RoundRow& row : rounds)
    if (row.choice) chosen.push_back(&row);
  if (chosen.empty()) return {};
  std::vector<Column> columns;
  for (const char* title : {"round", "tau", "beta", "rho", "delta", "bound", "s per step", "s per round"})
    columns.push_back({title, Align::kRight});
  Table table(std::move(columns));
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    if (i >= kMost / 2 && i + kMost / 2 < chosen.size()) continue;
    const RoundChoice& choice = *chosen[i]->choice;
    std::vector<std::string> cells = {fmt::format("{}", chosen[i]->round), fmt::format("{}", choice.tau)};
    for (const double number :
         {choice.beta, choice.rho, choice.delta, choice.bound, choice.step_seconds, choice.round_seconds})
      cells.push_back(chosen[i]->round <= 1 ? "-" : fmt::format("{:.4g}", number));
    table.add(std::move(cells));
  }
  return fmt::format("\nchosen tau (first and last of {} rounds)\n", chosen.size()) + table.text();
}

// Text about the rounds that have a virtual time.
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

// The configuration is canonical: "key = value" on a line of its own.
std::optional<std::uint64_t> config_number(const RunRow& run, std::string_view key) {
  const std::string line = fmt::format("\n{} = ", key);
  const std::size_t at = run.config.find(line);
  if (at == std::string::npos) return std::nullopt;
  std::uint64_t value = 0;
  const char* const begin = run.config.data() + at + line.size();
  const auto [end, error] = std::from_chars(begin, run.config.data() + run.config.size(), value);
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

std::string schema_line(const std::string& data_schema) {
  constexpr std::size_t kMostNames = 8, kMostClassNames = 20;
  auto schema = Json::parse(data_schema);
  if (!schema || !schema->is_object()) return {};
  const Json* features = schema->find("features");
  if (features != nullptr && features->elements().size() > kMostNames) schema->erase("features");
  const Json* classes = schema->find("classes");
  if (classes != nullptr && classes->elements().size() > kMostClassNames) schema->erase("classes");
  return schema->dump();
}

std::string shown_status(const RunRow& run) {
  return owner_lost(run) ? "killed" : std::string(run_status_name(run.status));
}

std::string marked_status(const RunRow& run) {
  return shown_status(run) + (run.warnings.empty() ? "" : "!") + (run.drops.empty() ? "" : "*");
}

std::string runs_text(std::span<const RunRow> runs) {
  const bool named = std::ranges::any_of(runs, [](const RunRow& run) { return !run.name.empty(); });
  Table table({{"run"},
               {"created", Align::kLeft, 7},
               {"status"},
               {"name", Align::kLeft, named ? 3 : 10},
               {"data", Align::kLeft, 8},
               {"model"},
               {"algorithm"},
               {"eta", Align::kRight},
               {"gamma", Align::kRight, 4},
               {"tau", Align::kRight, 5},
               {"nodes", Align::kRight, 9},
               {"seed", Align::kRight},
               {"steps", Align::kRight, 6},
               {"loss", Align::kRight},
               {"accuracy", Align::kRight, 2}});
  std::vector<std::string> algorithms;
  for (const RunRow& run : runs) algorithms.push_back(run.algorithm);
  algorithms = brief_algorithms(algorithms);
  auto algorithm = algorithms.begin();
  for (const RunRow& run : runs)
    table.add({run.id, minute_text(run.created), marked_status(run), short_text(run.name, 14),
               short_text(run.data, 14), run.model, short_text(*algorithm++, 24), narrow_text(run.eta),
               run.gamma ? narrow_text(*run.gamma) : "-", narrow_count(run.tau), narrow_count(run.nodes),
               narrow_count(config_number(run, "seed")),
               narrow_count(run.summary ? run.summary->final.step : run.planned_steps),
               number_text(listed_final_loss(run)), percent_text(final_accuracy(run))});
  const bool warned = std::ranges::any_of(runs, [](const RunRow& run) { return !run.warnings.empty(); });
  const bool dropped = std::ranges::any_of(runs, [](const RunRow& run) { return !run.drops.empty(); });
  return table.text(kListWidth) + (warned ? "! ended with a warning: mfl runs show ID\n" : "") +
         (dropped ? "* rounds were dropped: mfl runs show ID\n" : "");
}

Json runs_json(std::span<const RunRow> runs) {
  Json out = {{"runs", Json::array()}};
  for (const RunRow& run : runs) {
    Json one = run_json(run);
    one.erase("config");
    one.erase("test_metrics");
    one["shown_status"] = shown_status(run);
    if (const auto seed = config_number(run, "seed")) one["seed"] = *seed;
    out["runs"].push_back(std::move(one));
  }
  return out.sorted();
}

std::string run_text(const RunExport& run, std::size_t last_records, const std::string& config) {
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
  out += tested_text(run.run);
  out += config.empty() ? "\nconfiguration\n" + indented(run.run.config)
                        : "\nconfiguration (without what is at its default)\n" + indented(config);
  const std::size_t shown = std::min(last_records, run.records.size());
  out += fmt::format("\nrecords (last {} of {})\n", shown, run.records.size());
  out += records_text(std::span(run.records).last(shown));
  return run.rounds ? out + rounds_time_text(*run.rounds) + choices_text(*run.rounds) : out;
}

Json whole_json(const RunExport& run) {
  Json out = export_json(run);
  out["run"]["shown_status"] = shown_status(run.run);
  return out.sorted();
}

Json show_json(const RunExport& run) {
  Json out = whole_json(run);
  const bool chosen = run.rounds && std::ranges::any_of(*run.rounds, [](const RoundRow& row) {
                        return row.choice.has_value();
                      });
  if (!chosen && (!run.run.summary || !run.run.summary->virtual_seconds)) out.erase("rounds");
  return out;
}

std::span<const std::string_view> shown_statuses() {
  static constexpr std::string_view kAll[] = {"running",     "done",   "diverged",
                                              "interrupted", "failed", "killed"};
  return kAll;
}

Result<std::vector<RunRow>> find_runs(const std::filesystem::path& path, RunFilter filter,
                                      const std::string& status) {
  if (!status.empty() && std::ranges::find(shown_statuses(), status) == shown_statuses().end())
    return fail(ErrorCode::kBadConfig,
                fmt::format("status {}: must be running, done, diverged, interrupted, failed or killed{}",
                            status, did_you_mean(status, shown_statuses())));
  std::error_code unseen;
  if (!std::filesystem::exists(path, unseen) && !unseen) return std::vector<RunRow>{};
  MFL_TRY(const Store store, Store::open(path, {.read_only = true}));
  if (!status.empty()) filter.status = parse_run_status(status == "killed" ? "running" : status);
  MFL_TRY(std::vector<RunRow> runs, store.list(filter));
  if (!status.empty()) std::erase_if(runs, [&](const RunRow& run) { return shown_status(run) != status; });
  return runs;
}

}  // namespace mfl
