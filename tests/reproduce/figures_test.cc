#include "mfl/reproduce/figures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "made_evidence.h"

namespace mfl::test {
namespace {

std::vector<std::string> names(const std::vector<FigureData>& figures) {
  std::vector<std::string> out;
  for (const FigureData& figure : figures) out.push_back(figure.name);
  return out;
}

const FigureData& figure(const std::vector<FigureData>& figures, const std::string& name) {
  for (const FigureData& one : figures)
    if (one.name == name) return one;
  ADD_FAILURE() << "no figure " << name;
  return figures.front();
}

TEST(Figures, EveryFigureOfThePaperAndWhatItLeftOut) {
  EXPECT_THAT(names(figures_of(made_evidence())),
              ::testing::ElementsAre("fig4a", "fig4a-squared-svm", "fig4b", "fig4b-squared-svm", "fig4c",
                                     "fig4c-accuracy", "fig4d", "fig4d-accuracy", "fig4-gap", "fig5a",
                                     "fig5b", "fig5c", "fig5c-excess", "fig6", "fig6-rise"));
  EXPECT_TRUE(figures_of({0.5, 4, 1000, 0, {}, {}}).empty());
  Evidence evidence = made_evidence();
  evidence.figures = {"4c", "6"};
  EXPECT_THAT(names(figures_of(evidence)),
              ::testing::ElementsAre("fig4c", "fig4c-accuracy", "fig4-gap", "fig6", "fig6-rise"));
}

TEST(Figures, AnAlgorithmHasOneStyleEverywhere) {
  std::map<std::string, std::set<std::string>> colors;
  for (const FigureData& one : figures_of(made_evidence()))
    for (const FigureSeries& series : one.series)
      for (const char* algorithm : {"FL", "GD", "MGD"})
        if (series.title == algorithm || series.title.starts_with(algorithm + std::string(" ")) ||
            series.title.starts_with(algorithm + std::string(",")))
          colors[algorithm].insert(series.style.color);
  ASSERT_EQ(colors.size(), 3U);
  for (const auto& [algorithm, used] : colors) EXPECT_EQ(used.size(), 1U) << algorithm;
}

TEST(Figures, MeanAndBandOverSeeds) {
  Evidence evidence = made_evidence(3);
  for (RunEvidence& run : evidence.runs)
    for (RoundEvidence& round : run.rounds) round.loss += 0.01 * (static_cast<double>(run.seed) - 2);
  const auto figures = figures_of(evidence);
  const Plot plot = plot_of(figure(figures, "fig4a"));
  ASSERT_EQ(plot.series.size(), 4U);
  const PlotSeries& mfl = plot.series.front();
  ASSERT_EQ(mfl.x.size(), 251U);
  ASSERT_EQ(mfl.low.size(), 251U);
  EXPECT_NEAR(mfl.y[10], 0.25 + 0.25 * std::exp(-rate_of(0.5) * 40), 1e-12);
  EXPECT_NEAR(mfl.high[10] - mfl.low[10], 0.02, 1e-12);
  EXPECT_TRUE(plot_of(figure(figures_of(made_evidence(1)), "fig4a")).series.front().low.empty())
      << "one seed, no band";
}

TEST(Figures, ARunThatDivergedIsMarked) {
  Evidence evidence = made_evidence(1);
  for (RunEvidence& run : evidence.runs)
    if (run.algorithm == "mfl" && run.gamma == 0.9) run.diverged = true;
  const auto figures = figures_of(evidence);
  for (const FigureSeries& series : figure(figures, "fig5a").series)
    EXPECT_EQ(series.diverged, series.title == "MFL γ = 0.9") << series.title;
  EXPECT_TRUE(draw(plot_of(figure(figures, "fig5c")))) << "a gap in a line over gamma";
}

TEST(Figures, CsvHasEveryPointOfEverySeed) {
  const auto figures = figures_of(made_evidence());
  const std::string csv = csv_of(figure(figures, "fig6"));
  EXPECT_THAT(csv, ::testing::StartsWith("series,seed,x,y\n\"FL, T = 1,000\",1,1,0."));
  EXPECT_EQ(std::ranges::count(csv, '\n'), 1 + 2 * (2 * 5 + 4));
  EXPECT_EQ(csv, csv_of(figure(figures_of(made_evidence()), "fig6")));
}

}  // namespace
}  // namespace mfl::test
