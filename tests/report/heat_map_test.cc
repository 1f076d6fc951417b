#include "mfl/report/heat_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "mfl/report/dot_plot.h"
#include "tests/report/text.h"

namespace mfl {
namespace {

using test::count_of;
using test::has;
using ::testing::StartsWith;

HeatMap rounds_to_target() {
  return {.name = "rounds",
          .title = "Rounds to target",
          .value_label = "rounds",
          .row_label = "algorithm",
          .column_label = "split",
          .rows = {"fl", "mfl"},
          .columns = {"iid", "dirichlet(0.1)"},
          .cells = {{{40, "40 ± 2"}, {95.5}}, {{21}}}};
}

TEST(HeatMap, ShowsNamesTextsAndScale) {
  const auto drawing = draw(rounds_to_target());
  ASSERT_TRUE(drawing) << drawing.error().text();
  for (const char* text : {">Rounds to target<", ">rounds:<", ">algorithm<", ">split<", ">fl<", ">mfl<",
                           ">iid<", ">dirichlet(0.1)<", ">40 ± 2<", ">no value<", ">–<"})
    EXPECT_TRUE(has(drawing->svg, text)) << text;
  EXPECT_EQ(count_of(drawing->svg, ">95.5<"), 2U) << "in its cell and at the end of the scale";
  EXPECT_EQ(count_of(drawing->svg, ">21<"), 2U);
  EXPECT_THAT(drawing->png.substr(0, 6), StartsWith("\x89PNG\r\n"));
  EXPECT_TRUE(drawing->svg == draw(rounds_to_target())->svg);
}

TEST(HeatMap, TheLegendNamesEmptyCellsOnlyWhereThereAreSome) {
  HeatMap map = rounds_to_target();
  map.cells[1].push_back({std::numeric_limits<double>::infinity(), "never"});
  EXPECT_TRUE(has(draw(map)->svg, ">never<"));
  EXPECT_TRUE(has(draw(map)->svg, ">no value<"));
  map.cells[1][1] = {12};
  EXPECT_FALSE(has(draw(map)->svg, ">no value<"));
}

TEST(HeatMap, TheDarkEndIsTheHighOneByDefault) {
  const std::string darkest = "rgb(  8,  41,  92)", lightest = "rgb(234, 242, 251)";
  HeatMap map = rounds_to_target();
  const auto first_cell = [](const HeatMap& one) {
    const std::string svg = draw(one)->svg;
    return svg.substr(svg.find("fill = 'rgb("), 40);
  };
  map.cells = {{{1}, {2}}, {{3}, {4}}};
  EXPECT_TRUE(has(first_cell(map), lightest)) << first_cell(map);
  map.dark_is_low = true;
  EXPECT_TRUE(has(first_cell(map), darkest)) << first_cell(map);
}

TEST(HeatMap, TextIsReadOnEveryColour) {
  EXPECT_EQ(heat_text_color(0), "#000000");
  EXPECT_EQ(heat_text_color(1), "#ffffff");
  EXPECT_EQ(heat_color(-1), heat_color(0));
  EXPECT_EQ(heat_color(2), "#08295c");
}

TEST(HeatMap, NothingAndOneValueAreDrawn) {
  HeatMap map = rounds_to_target();
  map.cells = {};
  EXPECT_TRUE(draw(map));
  map.rows = map.columns = {};
  EXPECT_TRUE(draw(map));
  map.rows = map.columns = {"one"};
  for (const bool log : {false, true}) {
    map.log = log;
    map.cells = {{{log ? 0.0 : 3.0}}};
    EXPECT_TRUE(draw(map));
  }
}

TEST(HeatMap, TextCannotBecomeAScript) {
  HeatMap map = rounds_to_target();
  map.cells[0][0].text = "'; exit 1; '";
  map.rows[0] = "it's {/Bold b}_x";
  const auto drawing = draw(map);
  ASSERT_TRUE(drawing) << drawing.error().text();
  EXPECT_TRUE(has(drawing->svg, "it\xE2\x80\x99s {/Bold b}_x"));
}

TEST(DotPlot, ShowsNamesNotesAndIntervals) {
  DotPlot plot{.name = "ranking", .title = "Ranking"};
  plot.x.label = "mean rank";
  plot.rows = {{.name = "mfl", .value = 1.4, .low = 1.0, .high = 1.8, .note = "5 of 5 seeds"},
               {.name = "fl", .value = 2.6, .low = 2.2, .high = 3.0},
               {.name = "gd", .note = "never"}};
  const auto drawing = draw(plot);
  ASSERT_TRUE(drawing) << drawing.error().text();
  for (const char* text : {">Ranking<", ">mean rank<", ">mfl<", ">5 of 5 seeds<", ">gd<", ">never<", ">2.0<"})
    EXPECT_TRUE(has(drawing->svg, text)) << text;
  EXPECT_EQ(count_of(drawing->svg, "xlink:href='#ranking_gpPt6'"), 2U) << "a dot for each value";
  EXPECT_TRUE(drawing->svg == draw(plot)->svg);
}

TEST(DotPlot, NothingAndValuesOffTheAxisAreDrawn) {
  DotPlot plot{.name = "none", .title = ""};
  EXPECT_TRUE(draw(plot));
  plot.x.log = true;
  plot.rows = {{.name = "zero", .value = 0.0}, {.name = "down", .value = 1.0, .low = -1.0, .high = 2.0}};
  const auto drawing = draw(plot);
  ASSERT_TRUE(drawing) << drawing.error().text();
  EXPECT_EQ(count_of(drawing->svg, "xlink:href='#none_gpPt6'"), 1U);
}

}  // namespace
}  // namespace mfl
