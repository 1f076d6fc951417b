#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "mfl/report/compare.h"
#include "mfl/report/runs.h"
#include "mfl/report/table.h"

namespace mfl {
namespace {

std::string target_text(const Target& target, const std::string& baseline) {
  const std::string where = fmt::format("{} on {}", printable(target.model), printable(target.data));
  if (target.run.empty()) return fmt::format("target for {}: train loss {:.9g}\n", where, target.loss);
  return fmt::format("target for {}: train loss {:.9g}, where {} (run {}) ended\n", where, target.loss,
                     baseline, target.run);
}

std::string target_sentence(const Comparison& comparison) {
  const Target& first = comparison.targets.front();
  if (first.run.empty()) return fmt::format("The target is a training loss of {}.", number_text(first.loss));
  if (comparison.targets.size() == 1)
    return fmt::format("The target is the training loss {} at which {} (run {}) ended.",
                       number_text(first.loss), comparison.baseline, first.run);
  return fmt::format("The target is the training loss at which {} ended, seed by seed.", comparison.baseline);
}

std::string names_of(const std::vector<std::string>& runs) {
  return fmt::format("{} {}", runs.size() == 1 ? "run" : "runs", fmt::join(runs, ", "));
}

// Words in lines of at most `width` columns; the second line and those after it start with `indent`.
std::string wrapped(std::string_view text, std::size_t width, std::string_view indent) {
  std::string out;
  std::size_t column = 0;
  while (text.starts_with(' ')) {
    out += ' ';
    ++column;
    text.remove_prefix(1);
  }
  bool first = true;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!first && column + 1 + word.size() > width) {
      out += fmt::format("\n{}", indent);
      column = indent.size();
    } else if (!first) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
    first = false;
  }
  return out + "\n";
}

constexpr std::size_t kTextWidth = 80;

bool is_unset(const std::string& value) {
  for (const std::string_view unset : {"\"\"", "[]", "\"none\"", "\"auto\"", "0", "0.0", "\"0.0\"", "false"})
    if (value == unset) return true;
  return false;
}

// Line by line what all runs have in common, without what is unset.
std::string common_text(const Settings& settings) {
  std::string out, table, line;
  const auto finish = [&] {
    if (!line.empty()) out += wrapped(line, kTextWidth, "    ");
    line.clear();
  };
  for (const ConfigValue& value : settings.common) {
    if (is_unset(value.value)) continue;
    if (value.table != table) finish();
    line += line.empty() ? fmt::format("  [{}] ", value.table) : ", ";
    line += fmt::format("{} = {}", value.key, printable(value.value));
    table = value.table;
  }
  finish();
  return out.empty() ? out : "common configuration (without what is unset)\n" + out;
}

std::vector<RunRow> runs_of(const Comparison& comparison) {
  std::vector<RunRow> runs;
  for (const CompareRow& row : comparison.rows) runs.push_back(row.run);
  return runs;
}

bool repeats(const Comparison& comparison, const Parting& parting) {
  const auto setting_of = [&](const std::string& id) -> std::size_t {
    for (std::size_t s = 0; s < comparison.settings.all.size(); ++s) {
      const RunSetting& setting = comparison.settings.all[s];
      if (std::ranges::any_of(
              setting.left_out,
              [&](const RunSetting::LeftOut& one) { return comparison.rows[one.run].run.id == id; }) ||
          std::ranges::any_of(setting.runs, [&](std::size_t i) { return comparison.rows[i].run.id == id; }))
        return s;
    }
    return comparison.settings.all.size();
  };
  const auto seed_of = [&](const std::string& id) {
    const auto row = std::ranges::find(comparison.rows, id, [](const CompareRow& one) { return one.run.id; });
    return config_number(row->run, "seed");
  };
  return setting_of(parting.first) == setting_of(parting.second) &&
         seed_of(parting.first) == seed_of(parting.second);
}

std::string notes_text(const Comparison& comparison) {
  std::string out;
  for (const Target& target : comparison.targets) out += target_text(target, comparison.baseline);
  for (const Headline& headline : comparison.headlines) out += printable(headline.text) + "\n";
  if (has_sampled_target(comparison)) out += fmt::format("{}\n", kSampledNote);
  for (const std::string& note : sparse_notes(comparison)) out += note + "\n";
  if (const std::string differences = differences_text(runs_of(comparison)); !differences.empty())
    out += fmt::format("configurations differ in: {}\n", printable(differences));
  for (const Parting& parting : comparison.partings)
    out += fmt::format("{} and {}: {}\n", parting.first, parting.second, parting_text(parting));
  return out;
}

std::string grouped_notes(const Comparison& comparison) {
  std::string out;
  for (const std::string& note : comparison_notes(comparison))
    out += wrapped(printable(note), kTextWidth, "  ");
  const std::string common = common_text(comparison.settings);
  return common.empty() ? out : out + "\n" + common;
}

std::string notes_text(const Comparison& comparison, bool grouped) {
  return grouped ? grouped_notes(comparison) : notes_text(comparison);
}

std::string markdown_notes(const Comparison& comparison, bool grouped) {
  std::vector<std::string> sentences;
  if (grouped)
    sentences = comparison_notes(comparison);
  else
    for (const Headline& headline : comparison.headlines) sentences.push_back(headline.text);
  std::string out = sentences.empty() ? "" : "\n";
  for (const std::string& sentence : sentences)
    out += fmt::format("- {}\n", markdown_escaped(printable(sentence)));
  return out;
}

std::string commented(const std::string& text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    out += "% " + text.substr(at, end - at) + "\n";
    at = end == std::string::npos ? text.size() : end + 1;
  }
  return out;
}

}  // namespace

std::string measured_text(const MeasuredLosses& losses) {
  return losses.sparse() ? fmt::format("{} of {} States", losses.measured, losses.rows) : "";
}

bool has_sparse_losses(const Comparison& comparison) {
  return std::ranges::any_of(comparison.rows, [](const CompareRow& row) { return row.losses.sparse(); });
}

std::vector<std::string> sparse_notes(const Comparison& comparison) {
  std::vector<std::string> none, some, notes;
  for (const CompareRow& row : comparison.rows)
    if (row.target && row.losses.sparse()) (row.losses.end_only() ? none : some).push_back(row.run.id);
  if (!none.empty())
    notes.push_back(fmt::format(
        "No steps to target for {}: the train loss over all samples was not measured on the way. Train with "
        "evaluate_every = \"auto\" to record it.",
        names_of(none)));
  if (!some.empty())
    notes.push_back(fmt::format(
        "Steps to target of {} are read off the rounds whose train loss over all samples was measured.",
        names_of(some)));
  return notes;
}

std::vector<std::string> comparison_notes(const Comparison& comparison) {
  std::vector<std::string> notes;
  for (const Headline& headline : comparison.headlines) notes.push_back(headline.text);
  if (!comparison.targets.empty()) notes.push_back(target_sentence(comparison));
  std::vector<std::string> without;
  for (const CompareRow& row : comparison.rows)
    if (!row.target && !comparison.targets.empty()) without.push_back(row.run.id);
  if (!without.empty())
    notes.push_back(
        fmt::format("No target for {}: no finished run of {} on the same problem with the same seed.",
                    names_of(without), comparison.baseline));
  notes.emplace_back("Means over seeds, ± the sample standard deviation.");
  for (std::string& note : left_out_notes(comparison.settings, runs_of(comparison)))
    notes.push_back(std::move(note));
  if (has_sampled_target(comparison)) notes.emplace_back(kSampledNote);
  for (std::string& note : sparse_notes(comparison)) notes.push_back(std::move(note));
  for (const Parting& parting : comparison.partings)
    if (repeats(comparison, parting))
      notes.push_back(
          fmt::format("Runs {} and {}: {}.", parting.first, parting.second, parting_text(parting)));
  return notes;
}

std::string compare_text(const Comparison& comparison, const CompareFormat& format) {
  const bool grouped = comparison.settings.grouped() && !format.each;
  const Table table =
      grouped ? settings_table(comparison, format.format) : runs_table(comparison, format.format);
  const std::string written = table_as(table, format.format);
  switch (format.format) {
    case TableFormat::kCsv: return written;
    case TableFormat::kMarkdown: return written + markdown_notes(comparison, grouped);
    case TableFormat::kLatex: return commented(notes_text(comparison, grouped)) + written;
    case TableFormat::kText: break;
  }
  const std::string text = table.text(grouped ? kTextWidth : 0), notes = notes_text(comparison, grouped);
  return text + (notes.empty() ? "" : "\n" + notes) +
         (text == written ? "" : "\nColumns that do not fit are left out; --format csv has them.\n");
}

}  // namespace mfl
