#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "mfl/base/version.h"
#include "mfl/record/export.h"
#include "mfl/reproduce/cost.h"
#include "mfl/reproduce/figures.h"
#include "mfl/reproduce/reproduce.h"

namespace mfl {
namespace {

Tone tone_of(ClaimVerdict verdict) {
  switch (verdict) {
    case ClaimVerdict::kHolds: return Tone::kGood;
    case ClaimVerdict::kHoldsWithLimit: return Tone::kLimited;
    case ClaimVerdict::kDoesNotHold: return Tone::kBad;
    case ClaimVerdict::kNotTested: return Tone::kNeutral;
  }
  return Tone::kNeutral;
}

std::string whole(double value) { return tick_text(std::round(value), 1); }
std::string whole(std::uint64_t value) { return tick_text(static_cast<double>(value), 1); }

std::string summary_of(const std::vector<Claim>& claims, std::size_t seeds) {
  std::array<std::size_t, 4> counts{};
  for (const Claim& claim : claims) ++counts.at(static_cast<std::size_t>(claim.verdict));
  const std::string out =
      fmt::format("Of {} claims tested on {}, {} hold, {} hold with a stated limit and {} {} not hold.",
                  claims.size() - counts[3], seeds == 1 ? "one seed" : fmt::format("{} seeds", seeds),
                  counts[0], counts[1], counts[2], counts[2] == 1 ? "does" : "do");
  return out + (seeds == 1
                    ? " Curves that are close may change their order with the seed; check with five seeds."
                    : "");
}

PageSection claims_section(const std::vector<Claim>& claims, std::size_t seeds) {
  PageTable table{.caption = "",
                  .columns = {{"figure"}, {"claim"}, {"verdict"}, {"measured"}, {"how it was tested"}},
                  .rows = {},
                  .prose = true};
  for (const Claim& claim : claims)
    if (claim.verdict != ClaimVerdict::kNotTested)
      table.rows.push_back({{claim.figure},
                            {claim.text},
                            {std::string(verdict_text(claim.verdict)), tone_of(claim.verdict)},
                            {claim.limit.empty() ? claim.measured : claim.measured + ". " + claim.limit},
                            {claim.test}});
  PageSection section{
      "claims",
      "Claims of Section VII",
      {PageParagraph{
           summary_of(claims, seeds) +
           " Claims about squared-svm are the paper's, carried over to the smooth form. Every verdict is "
           "computed from the runs below; another result gives another verdict."},
       std::move(table)}};
  if (std::string untested = not_tested_text(claims); !untested.empty())
    section.blocks.emplace_back(PageParagraph{std::move(untested)});
  return section;
}

Result<std::vector<PageSection>> figure_sections(const std::vector<FigureData>& figures, std::size_t seeds) {
  const std::array<std::pair<std::string_view, std::string_view>, 3> titles = {
      {{"4", "Figure 4: convergence"},
       {"5", "Figure 5: the effect of γ"},
       {"6", "Figure 6: the effect of τ"}}};
  std::vector<PageSection> sections;
  for (const auto& [number, title] : titles) {
    PageFigures drawn;
    for (const FigureData& figure : figures) {
      if (!figure.figure.starts_with(number)) continue;
      MFL_TRY(Drawing drawing, draw(plot_of(figure)));
      drawn.push_back({figure.name,
                       fmt::format("{} {}. {}", figure.in_paper ? "Figure" : "Beside figure", figure.figure,
                                   figure.caption),
                       std::move(drawing)});
    }
    if (drawn.empty()) continue;
    PageSection section{fmt::format("figure-{}", number), std::string(title), {}};
    section.blocks.emplace_back(PageParagraph{
        seeds > 1
            ? fmt::format(
                  "Lines are means over {} seeds, bands reach from the least to the largest of them; where "
                  "no band is seen, it is thinner than the line.",
                  seeds)
            : "Lines are those of one seed."});
    section.blocks.emplace_back(std::move(drawn));
    sections.push_back(std::move(section));
  }
  return sections;
}

std::string cost_title(const CostRow& row) {
  std::string title = row.algorithm == "fl"    ? "FL"
                      : row.algorithm == "mfl" ? "MFL"
                      : row.algorithm == "gd"  ? "GD"
                                               : "MGD";
  return row.d_alone ? title + ", d alone" : title;
}

std::vector<PageCell> cost_cells(const CostRow& row) {
  const bool there = row.reached > 0, federated = row.tau > 0;
  const auto bytes = [&](double amount) {
    return there && federated ? bytes_text(static_cast<std::uint64_t>(std::llround(amount))) : "-";
  };
  return {{row.model},
          {cost_title(row)},
          {row.algorithm == "mfl" || row.algorithm == "mgd" ? fmt::format("{}", row.gamma) : "-"},
          {federated ? whole(row.tau) : "-"},
          {fmt::format("{:.6f}", row.target)},
          {there ? whole(row.steps) : "not reached"},
          {there && federated ? whole(row.rounds) : "-"},
          {bytes(row.bytes_up)},
          {bytes(row.bytes_down)},
          {row.bytes_to_fl ? fmt::format("{:.2f}", *row.bytes_to_fl) : "-"},
          {fmt::format("{} of {}", row.reached, row.seeds)}};
}

PageTable cost_table(std::string caption, const std::vector<CostRow>& rows) {
  PageTable table{.caption = std::move(caption),
                  .columns = {{"model"},
                              {"algorithm"},
                              {"γ", Align::kRight},
                              {"τ", Align::kRight},
                              {"target loss", Align::kRight},
                              {"steps", Align::kRight},
                              {"rounds", Align::kRight},
                              {"up", Align::kRight},
                              {"down", Align::kRight},
                              {"bytes / FL", Align::kRight},
                              {"seeds there", Align::kRight}},
                  .rows = {}};
  for (const CostRow& row : rows) table.rows.push_back(cost_cells(row));
  return table;
}

PageSection cost_section(const Evidence& evidence, const std::vector<CostRow>& rows,
                         const std::vector<CostRow>& by_gamma) {
  PageSection section{"cost", "What it costs", {}};
  section.blocks.emplace_back(
      PageParagraph{fmt::format("Steps, rounds and bytes until the training loss is at or below the one that "
                                "FL has at T = {} on the same data, means over seeds. Bytes are those of all "
                                "nodes together. A round of MFL carries w and d, twice the bytes of FL's w, "
                                "so MFL saves bytes only where it needs fewer than half of FL's rounds. GD "
                                "and MGD send no model, but need all data in one place.",
                                whole(evidence.steps))});
  section.blocks.emplace_back(cost_table("To FL's final loss", rows));
  if (std::ranges::any_of(rows, &CostRow::d_alone))
    section.blocks.emplace_back(
        PageParagraph{"With τ = 1 every node holds the same w and d at the start of a step, so the mean of d "
                      "is enough and each node takes the step of w itself: MFL then sends no more than FL "
                      "per round. The row \"d alone\" is the row above it with half the bytes; it is "
                      "arithmetic, not a run."});
  if (by_gamma.size() < 2) return section;
  section.blocks.emplace_back(cost_table(fmt::format("SVM by γ, τ = {}", evidence.tau), by_gamma));
  const auto even = break_even_gamma(by_gamma);
  section.blocks.emplace_back(
      PageParagraph{even ? fmt::format("Break-even: from γ = {} on MFL reaches the target with no more bytes "
                                       "than FL; below it FL is cheaper in "
                                       "bytes, although it takes more rounds.",
                                       *even)
                         : "Break-even: no γ that was run reaches the target with as few bytes as FL."});
  return section;
}

PageSection setting_section(const Reproduction& reproduction, const PlanOptions& options) {
  const Evidence& evidence = reproduction.evidence;
  PageList list;
  list.items.push_back(
      fmt::format("The settings are the files figure-4.toml, figure-5.toml and figure-6*.toml; figure 4 has "
                  "γ = {}, τ = {} and T = {}.",
                  evidence.gamma, evidence.tau, whole(evidence.steps)));
  list.items.push_back(
      fmt::format("Seeds 1 to {}. Where the data is taken at random, as in the paper's setting, the seed "
                  "decides which samples are the training and the test set; where the partition is iid it "
                  "also decides which node holds which of them. The start is w = 0, d = 0 for every seed, "
                  "and batches are full: nothing else is random.",
                  options.seeds));
  list.items.push_back(
      "svm is the hinge as the paper prints it, which has kinks; squared-svm is its smooth form, to which "
      "the paper's theory applies.");
  if (options.quick)
    list.items.push_back(
        "This is the quick form: it leaves out the long runs of figure 6 (T = 60,000), and the claims about "
        "them are not tested. Without --quick they are part of it, and five seeds are the default.");
  if (options.figures.size() < 8)
    list.items.push_back(
        fmt::format("Only these figures were asked for: {}. Claims about others are not tested.",
                    fmt::join(options.figures, ", ")));
  const bool diverged = std::ranges::any_of(evidence.runs, &RunEvidence::diverged);
  if (diverged)
    list.items.push_back(
        "Runs that diverged are drawn up to their last finite value and marked with a cross.");
  return {"setting", "What was run", {std::move(list)}};
}

PageSection runs_section(const Reproduction& reproduction) {
  PageTable table{.caption = "",
                  .columns = {{"run"},
                              {"model"},
                              {"algorithm"},
                              {"γ", Align::kRight},
                              {"τ", Align::kRight},
                              {"T", Align::kRight},
                              {"seed", Align::kRight},
                              {"training loss", Align::kRight},
                              {"test accuracy", Align::kRight},
                              {"digest of w"}},
                  .rows = {}};
  for (const RunEvidence& run : reproduction.evidence.runs)
    table.rows.push_back(
        {{run.id, {}, true},
         {run.model},
         {run.algorithm},
         {run.algorithm == "mfl" || run.algorithm == "mgd" ? fmt::format("{}", run.gamma) : "-"},
         {run.tau > 0 ? whole(run.tau) : "-"},
         {whole(run.steps)},
         {whole(run.seed)},
         {run.diverged ? "diverged" : fmt::format("{:.8f}", run.final_loss)},
         {run.final_accuracy ? fmt::format("{:.2f} %", 100 * *run.final_accuracy) : "-"},
         {digest_text(run.digest), {}, true}});
  return {"runs",
          "Runs",
          {PageParagraph{fmt::format(
               "{} runs, {} of them taken from the store, where each can be looked at with mfl runs show. By "
               "mfl {}.",
               reproduction.runs, reproduction.reused, version())},
           std::move(table)}};
}

Json finite(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json cost_json(const std::vector<CostRow>& rows) {
  Json out = Json::array();
  for (const CostRow& row : rows)
    out.push_back({{"model", row.model},
                   {"algorithm", row.algorithm},
                   {"gamma", row.gamma},
                   {"tau", row.tau},
                   {"d_alone", row.d_alone},
                   {"target", finite(row.target)},
                   {"seeds", row.seeds},
                   {"reached", row.reached},
                   {"steps", row.steps},
                   {"rounds", row.rounds},
                   {"bytes_up", row.bytes_up},
                   {"bytes_down", row.bytes_down},
                   {"bytes_to_fl", row.bytes_to_fl ? Json(*row.bytes_to_fl) : Json(nullptr)}});
  return out;
}

std::string claims_json(const Reproduction& reproduction, const PlanOptions& options,
                        const std::vector<CostRow>& rows, const std::vector<CostRow>& by_gamma) {
  Json claims = Json::array();
  for (const Claim& claim : reproduction.claims)
    claims.push_back({{"id", claim.id},
                      {"figure", claim.figure},
                      {"claim", claim.text},
                      {"test", claim.test},
                      {"measured", claim.measured},
                      {"verdict", verdict_text(claim.verdict)},
                      {"limit", claim.limit}});
  const auto even = break_even_gamma(by_gamma);
  const Json all = {{"schema_version", 1},
                    {"mfl_version", version()},
                    {"quick", options.quick},
                    {"seeds", Json::list(seeds_of(reproduction.evidence))},
                    {"figures", Json::list(options.figures)},
                    {"claims", claims},
                    {"cost", cost_json(rows)},
                    {"cost_by_gamma", cost_json(by_gamma)},
                    {"break_even_gamma", even ? Json(*even) : Json(nullptr)}};
  return all.sorted().dump(2) + "\n";
}

std::string runs_csv(const Evidence& evidence) {
  std::string out =
      "model,algorithm,gamma,tau,steps,seed,diverged,final_loss,final_accuracy,bytes_up,bytes_down,digest\n";
  for (const RunEvidence& run : evidence.runs)
    out += fmt::format("{},{},{:.17g},{},{},{},{},{:.17g},{},{},{},{}\n", run.model, run.algorithm, run.gamma,
                       run.tau, run.steps, run.seed, run.diverged ? 1 : 0, run.final_loss,
                       run.final_accuracy ? fmt::format("{:.17g}", *run.final_accuracy) : "", run.bytes_up,
                       run.bytes_down, run.digest);
  return out;
}

}  // namespace

Result<Report> reproduction_report(const Reproduction& reproduction, const PlanOptions& options) {
  const Evidence& evidence = reproduction.evidence;
  const std::vector<FigureData> figures = figures_of(evidence);
  const std::size_t seeds = seeds_of(evidence).size();
  const std::vector<CostRow> rows = cost_rows(evidence), by_gamma = gamma_cost_rows(evidence);
  MFL_TRY(std::vector<PageSection> drawn, figure_sections(figures, seeds));
  Report report;
  report.page.title = "Momentum federated learning: the paper, reproduced";
  report.page.lead = fmt::format(
      "The experiments of \"Accelerating Federated Learning via Momentum Gradient Descent\" (Liu, Chen, "
      "Chen, Zhang), run again{}. {}",
      options.quick ? " in their quick form" : "", summary_of(reproduction.claims, seeds));
  auto& sections = report.page.sections;
  sections.push_back(claims_section(reproduction.claims, seeds));
  std::ranges::move(drawn, std::back_inserter(sections));
  if (!rows.empty()) sections.push_back(cost_section(evidence, rows, by_gamma));
  sections.push_back(setting_section(reproduction, options));
  sections.push_back(runs_section(reproduction));
  for (const FigureData& figure : figures)
    report.files.emplace_back("data/" + figure.name + ".csv", csv_of(figure));
  report.files.emplace_back("data/runs.csv", runs_csv(evidence));
  report.files.emplace_back("claims.json", claims_json(reproduction, options, rows, by_gamma));
  return report;
}

}  // namespace mfl
