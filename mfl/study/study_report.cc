#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "mfl/base/json.h"
#include "mfl/base/version.h"
#include "mfl/report/table_formats.h"
#include "mfl/study/conclusions.h"
#include "mfl/study/study.h"
#include "mfl/study/study_figures.h"
#include "mfl/study/tables.h"

namespace mfl {
namespace {

PageTable page_table(std::string caption, const Table& table) {
  PageTable out{.caption = std::move(caption), .columns = table.columns(), .rows = {}};
  for (const auto& row : table.rows()) {
    out.rows.emplace_back();
    for (const std::string& text : row) {
      PageCell cell{text};
      if (text == "best") cell.badge = Tone::kGood;
      if (text == "tie") cell.badge = Tone::kNeutral;
      if (text == "diverged" || text == "not reached") cell.badge = Tone::kBad;
      if (text.ends_with("of the grid")) cell.badge = Tone::kLimited;
      out.rows.back().push_back(std::move(cell));
    }
  }
  return out;
}

PageSection conclusions_section(const std::vector<Conclusion>& conclusions) {
  PageList list;
  for (const Conclusion& one : conclusions) list.items.push_back(one.text);
  return {"conclusions",
          "Conclusions",
          {PageParagraph{"Computed from the runs of this study alone: another result gives other sentences."},
           std::move(list)}};
}

Result<PageSection> ranking_section(const StudyEvidence& evidence, const StudyResults& results) {
  MFL_TRY(Drawing drawing, draw(ranking_plot(evidence, results)));
  PageFigures figure;
  figure.push_back(
      {"ranking",
       fmt::format("Mean rank over {} cells (problem and split), by the final {}. Lines are 95 % intervals "
                   "over seeds; where two intervals overlap, the difference is not significant.",
                   results.cells.size(), metric_text(evidence.plan.metric)),
       std::move(drawing)});
  return PageSection{"ranking-of-algorithms",
                     "Ranking",
                     {std::move(figure), page_table("", ranking_table(evidence, results))}};
}

PageSection costs_section(const StudyEvidence& evidence, const StudyResults& results) {
  return {"costs",
          "Cost of the target",
          {PageParagraph{fmt::format("Relative to {}: geometric means over the cells in which both reached "
                                     "the target with every seed, which "
                                     "may be other cells for each algorithm.",
                                     evidence.plan.algorithms[evidence.plan.reference].label)},
           page_table("", costs_table(evidence, results))}};
}

Result<PageSection> maps_section(const StudyEvidence& evidence, const StudyResults& results) {
  const StudyPlan& plan = evidence.plan;
  PageSection section{"maps", "Algorithm and heterogeneity", {}};
  section.blocks.emplace_back(
      PageParagraph{"Splits go from the most even on the left to the most skewed on the right. Dark is "
                    "better in every map. Texts are means over seeds."});
  PageFigures figures;
  for (std::size_t i = 0; i < plan.problems.size(); ++i) {
    const HeatMap ends = final_map(evidence, results, i), rounds = rounds_map(evidence, results, i);
    MFL_TRY(Drawing final_drawing, draw(ends));
    MFL_TRY(Drawing rounds_drawing, draw(rounds));
    figures.push_back({ends.name,
                       fmt::format("{}: final {}; colours compare within a split.", plan.problems[i].label,
                                   metric_text(plan.metric)),
                       std::move(final_drawing)});
    figures.push_back(
        {rounds.name,
         fmt::format("{}: rounds to the target of each split; > where not every seed reached it.",
                     plan.problems[i].label),
         std::move(rounds_drawing)});
  }
  section.blocks.emplace_back(std::move(figures));
  return section;
}

Result<PageSection> curves_section(const StudyEvidence& evidence, std::size_t problem) {
  const StudyPlan& plan = evidence.plan;
  PageSection section{fmt::format("problem-{}", problem + 1), plan.problems[problem].label, {}};
  PageFigures figures;
  const std::vector<StudyCell> cells = cells_of(plan);
  for (std::size_t cell = 0; cell < cells.size(); ++cell) {
    if (cells[cell].problem != problem) continue;
    const Plot plot = curves_of(evidence, cell);
    MFL_TRY(Drawing drawing, draw(plot));
    figures.push_back({plot.name,
                       fmt::format("{}, {}.", plan.splits[cells[cell].split], metric_text(plan.metric)),
                       std::move(drawing)});
  }
  section.blocks.emplace_back(PageParagraph{
      plan.seeds.size() > 1
          ? fmt::format("Lines are means over {} seeds, bands reach from the least to the largest of them.",
                        plan.seeds.size())
          : "Lines are those of one seed."});
  section.blocks.emplace_back(std::move(figures));
  return section;
}

std::string target_text(const StudyPlan& plan, const StudyResults& results, std::size_t problem) {
  std::vector<std::string> parts;
  for (const CellResult& cell : results.cells)
    if (cell.cell.problem == problem)
      parts.push_back(fmt::format("{} {}", plan.splits[cell.cell.split],
                                  summary_text(summary_of(cell.targets), plan.metric)));
  return fmt::format("Targets ({}): {}.", metric_text(plan.metric), fmt::join(parts, "; "));
}

PageSection method_section(const StudyEvidence& evidence) {
  const StudyPlan& plan = evidence.plan;
  PageList list{methods_of(evidence)};
  std::vector<std::string> grids;
  for (const StudyProblem& problem : plan.problems)
    grids.push_back(fmt::format("{}: {}", problem.label, fmt::join(problem.eta, ", ")));
  list.items.push_back(fmt::format("Step sizes tried: {}.", fmt::join(grids, "; ")));
  Config shown = plan.base;
  shown.run.threads = 0;
  return {"method",
          "How it was done",
          {std::move(list), PageCode{to_toml(shown), "The experiment that all runs have in common"}}};
}

PageSection settings_section(const StudyEvidence& evidence, const StudyResults& results) {
  return {"settings",
          "Selected settings",
          {PageParagraph{"Of the settings tried for an algorithm, the one with the best mean over the tuning "
                         "seeds. A step size at the edge of the grid may not be the best there is."},
           page_table("", settings_table(evidence, results))}};
}

Json numbers_json(const StudyOutcome& study, const StudyResults& results,
                  const std::vector<Conclusion>& conclusions, const std::vector<std::string>& cautions) {
  const StudyPlan& plan = study.evidence.plan;
  Json sentences = Json::array(), ranking = Json::array();
  for (const Conclusion& one : conclusions) sentences.push_back({{"id", one.id}, {"text", one.text}});
  for (const std::size_t i : results.order) {
    const MeanRank& rank = results.ranking[i];
    ranking.push_back({{"algorithm", plan.algorithms[i].label},
                       {"mean_rank", rank.rank},
                       {"low", rank.interval ? Json(rank.interval->low) : Json(nullptr)},
                       {"high", rank.interval ? Json(rank.interval->high) : Json(nullptr)}});
  }
  return {{"schema_version", 1},
          {"mfl_version", version()},
          {"title", plan.title},
          {"quick", plan.quick},
          {"metric", metric_text(plan.metric)},
          {"seeds", Json::list(plan.seeds)},
          {"tuning_seeds", Json::list(plan.tuning_seeds)},
          {"runs", study.runs},
          {"ranking", ranking},
          {"conclusions", sentences},
          {"cautions", Json(cautions)}};
}

void add_table(Report& report, const std::string& name, const Table& table) {
  report.files.emplace_back(fmt::format("tables/{}.md", name), table_as(table, TableFormat::kMarkdown));
  report.files.emplace_back(fmt::format("tables/{}.tex", name), table_as(table, TableFormat::kLatex));
}

void add_files(Report& report, const StudyEvidence& evidence, const StudyResults& results) {
  add_table(report, "results", results_table(evidence, results));
  add_table(report, "ranking", ranking_table(evidence, results));
  add_table(report, "costs", costs_table(evidence, results));
  add_table(report, "settings", settings_table(evidence, results));
  const std::pair<const char*, Table> data[] = {{"tables/results.csv", results_data(evidence, results)},
                                                {"tables/ranking.csv", ranking_data(evidence, results)},
                                                {"tables/costs.csv", costs_table(evidence, results)},
                                                {"tables/settings.csv", settings_table(evidence, results)},
                                                {"data/runs.csv", runs_data(evidence)},
                                                {"data/curves.csv", points_data(evidence)}};
  for (const auto& [name, table] : data) report.files.emplace_back(name, table_as(table, TableFormat::kCsv));
}

std::string lead_of(const StudyPlan& plan, const StudyOutcome& study) {
  const auto counted = [](std::size_t count, std::string_view noun) {
    return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
  };
  return fmt::format(
      "{}{} on {} and {}, {}, {} in all, settings tuned on other seeds. By mfl {}.",
      plan.quick ? "The quick form of the study, with less of everything: an outlook, not a result. " : "",
      counted(plan.algorithms.size(), "algorithm"), counted(plan.problems.size(), "problem"),
      counted(plan.splits.size(), "split"), counted(plan.seeds.size(), "reported seed"),
      counted(study.runs, "run"), version());
}

}  // namespace

Result<Report> study_report(const StudyOutcome& study) {
  const StudyEvidence& evidence = study.evidence;
  const StudyPlan& plan = evidence.plan;
  const StudyResults results = results_of(evidence);
  const auto conclusions = conclusions_of(evidence, results);
  const auto cautions = cautions_of(evidence, results);
  Report report;
  report.page.title = plan.title + (plan.quick ? " (quick form)" : "");
  report.page.lead = lead_of(plan, study);
  auto& sections = report.page.sections;
  sections.push_back(conclusions_section(conclusions));
  if (!cautions.empty()) sections.push_back({"cautions", "What limits them", {PageList{cautions}}});
  MFL_TRY(PageSection ranking, ranking_section(evidence, results));
  sections.push_back(std::move(ranking));
  sections.push_back(costs_section(evidence, results));
  MFL_TRY(PageSection maps, maps_section(evidence, results));
  sections.push_back(std::move(maps));
  for (std::size_t i = 0; i < plan.problems.size(); ++i) {
    MFL_TRY(PageSection section, curves_section(evidence, i));
    section.blocks.emplace_back(PageParagraph{target_text(plan, results, i)});
    section.blocks.emplace_back(page_table("", problem_table(evidence, results, i)));
    sections.push_back(std::move(section));
  }
  sections.push_back(settings_section(evidence, results));
  sections.push_back(method_section(evidence));
  add_files(report, evidence, results);
  report.files.emplace_back("study.json", numbers_json(study, results, conclusions, cautions).dump(2) + "\n");
  return report;
}

}  // namespace mfl
