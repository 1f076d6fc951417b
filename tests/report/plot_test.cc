#include "mfl/report/plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>

#include "mfl/base/files.h"
#include "tests/report/text.h"

namespace mfl {
namespace {

using test::count_of;
using test::has;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Plot two_lines() {
  Plot plot{.name = "fig_a", .title = "Loss", .x = {"local steps t"}, .y = {"training loss"}, .series = {}};
  plot.series.push_back({.title = "MFL",
                         .x = {0, 500, 1000},
                         .y = {0.5, 0.3, 0.27},
                         .low = {0.5, 0.29, 0.26},
                         .high = {0.5, 0.31, 0.28},
                         .style = algorithm_style("mfl")});
  plot.series.push_back({.title = "FL",
                         .x = {0, 500, 1000},
                         .y = {0.5, 0.4, 0.3},
                         .low = {},
                         .high = {},
                         .style = algorithm_style("fl")});
  return plot;
}

// PATH for the time of a test.
class Path {
 public:
  explicit Path(const std::string& value) : before_(std::getenv("PATH")) {
    ::setenv("PATH", value.c_str(), 1);
  }
  Path(const Path&) = delete;
  Path& operator=(const Path&) = delete;
  ~Path() { ::setenv("PATH", before_.c_str(), 1); }

 private:
  std::string before_;
};

TEST(Plot, DrawsSvgAndPngAndTheSameBytesAgain) {
  const auto drawing = draw(two_lines());
  ASSERT_TRUE(drawing) << drawing.error().text();
  for (const char* text : {"<svg", "viewBox", ">Loss<", ">local steps t<", ">training loss<", ">MFL<",
                           ">1,000<", "rgb(213,  94,   0)", "stroke-dasharray"})
    EXPECT_TRUE(has(drawing->svg, text)) << text;
  EXPECT_THAT(drawing->png.substr(0, 6), StartsWith("\x89PNG\r\n"));
  const auto again = draw(two_lines());
  EXPECT_TRUE(drawing->svg == again->svg);
  EXPECT_TRUE(drawing->png == again->png);
}

TEST(Plot, APdfWithoutTheTimeOfDay) {
  const auto drawing = draw(two_lines());
  ASSERT_TRUE(drawing) << drawing.error().text();
  ASSERT_THAT(drawing->pdf.substr(0, 5), StartsWith("%PDF-"));
  EXPECT_TRUE(has(drawing->pdf, "(D:20000101000000"));
  EXPECT_TRUE(has(drawing->pdf, "%%EOF"));
  EXPECT_TRUE(drawing->pdf == draw(two_lines())->pdf);
}

// Where a colour is last used in the drawing itself, which comes after the legend.
std::size_t last_use(const std::string& svg, const std::string& color) { return svg.rfind(color); }

TEST(Plot, TheDashedOneOfEqualCurvesIsOnTop) {
  for (const bool swapped : {false, true}) {
    Plot plot = two_lines();
    plot.series[0].low.clear();
    plot.series[0].high.clear();
    plot.series[1].y = plot.series[0].y;
    if (swapped) std::swap(plot.series[0], plot.series[1]);
    const auto drawing = draw(plot);
    ASSERT_TRUE(drawing) << drawing.error().text();
    EXPECT_GT(last_use(drawing->svg, "rgb(  0, 114, 178)"), last_use(drawing->svg, "rgb(213,  94,   0)"));
  }
}

TEST(Plot, ALineThatEndsEarlyHasAPointAtItsEnd) {
  Plot plot = two_lines();
  EXPECT_FALSE(has(draw(plot)->svg, "xlink:href='#fig_a_gpPt6'"));
  plot.series[1].x = {0, 250, 500};
  EXPECT_TRUE(has(draw(plot)->svg, "xlink:href='#fig_a_gpPt6'"));
}

TEST(Plot, AGapInterruptsTheLine) {
  Plot plot = two_lines();
  plot.series.resize(1);
  plot.series[0] = {.title = "gap", .x = {0, 1, 2, 3, 4, 5}, .y = {1, 2, 3, 1, 2, 3}, .low = {}, .high = {}};
  const std::size_t whole = count_of(draw(plot)->svg, "M");
  plot.series[0].gaps = {3};
  EXPECT_GT(count_of(draw(plot)->svg, "M"), whole);
}

TEST(Plot, IdsCarryTheName) {
  const std::string svg = draw(two_lines())->svg;
  for (const char* quote : {"'", "\""})
    for (const std::string before : {" id=", "href="}) {
      const std::string open = before + quote + (before == "href=" ? "#" : "");
      for (std::size_t at = svg.find(open); at != std::string::npos; at = svg.find(open, at + 1))
        EXPECT_EQ(svg.compare(at + open.size(), 6, "fig_a_"), 0) << svg.substr(at, 40);
    }
  EXPECT_TRUE(has(svg, "id='fig_a_gpPt0'"));
}

TEST(Plot, TextCannotBecomeAScript) {
  Plot plot = two_lines();
  plot.title = "it's `touch /tmp/x` \"q\" @m {/Bold b}_x \n $y <&>";
  plot.series[0].title = "'; exit 1; '";
  const auto drawing = draw(plot);
  ASSERT_TRUE(drawing) << drawing.error().text();
  EXPECT_TRUE(has(drawing->svg, "it\xE2\x80\x99s `touch /tmp/x` \"q\" @m {/Bold b}_x ? $y &lt;&amp;>"));
}

TEST(Plot, ARunThatDivergesIsDrawnAndMarked) {
  Plot plot = two_lines();
  plot.series[1].y = {0.5, 1e30, kNan};
  const auto drawing = draw(plot);
  ASSERT_TRUE(drawing) << drawing.error().text();
  EXPECT_TRUE(has(drawing->svg, "FL (diverged)"));
  EXPECT_TRUE(has(drawing->svg, ">MFL<"));
  EXPECT_TRUE(has(drawing->svg, ">0.30<")) << "the range is that of the others";
}

TEST(Plot, NothingToDrawIsDrawnEmpty) {
  for (const bool log : {false, true}) {
    Plot plot{.name = "none", .title = "", .x = {"x", log}, .y = {"y", log}, .series = {}};
    EXPECT_TRUE(draw(plot));
    plot.series.push_back({.title = "none", .x = {}, .y = {}, .low = {}, .high = {}});
    plot.series.push_back({.title = "lost", .x = {1}, .y = {kNan}, .low = {}, .high = {}});
    plot.series.push_back({.title = "one", .x = {2}, .y = {3}, .low = {}, .high = {}});
    const auto drawing = draw(plot);
    ASSERT_TRUE(drawing) << drawing.error().text();
    EXPECT_TRUE(has(drawing->svg, "lost (diverged)"));
  }
}

TEST(Plot, WithoutGnuplotAndWithOneThatFails) {
  const auto folder = TempFolder::make();
  {
    const Path nowhere(folder->path().string());
    const auto drawing = draw(two_lines());
    ASSERT_FALSE(drawing);
    EXPECT_EQ(drawing.error().code, ErrorCode::kRunFailed);
    EXPECT_EQ(drawing.error().text(), "cannot draw figure fig_a: gnuplot is not installed");
    EXPECT_THAT(std::string(drawing.error().first_hint()), HasSubstr("gnuplot-nox"));
  }
  const auto program = folder->path() / "gnuplot";
  ASSERT_TRUE(
      write_file(program, "#!/bin/sh\necho first >&2\necho 'line 7: no such terminal' >&2\nexit 3\n"));
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  const Path failing(folder->path().string() + ":/usr/bin:/bin");
  const auto drawing = draw(two_lines());
  ASSERT_FALSE(drawing);
  EXPECT_EQ(drawing.error().text(),
            "cannot draw figure fig_a: gnuplot ended with exit code 3: line 7: no such terminal");
}

TEST(Plot, HalfAFileIsAnError) {
  const auto folder = TempFolder::make();
  const auto program = folder->path() / "gnuplot";
  ASSERT_TRUE(write_file(program, "#!/bin/sh\necho '<svg' > figure.svg\necho PNG > figure.png\n"));
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  const Path full(folder->path().string() + ":/usr/bin:/bin");
  const auto drawing = draw(two_lines());
  ASSERT_FALSE(drawing);
  EXPECT_EQ(drawing.error().code, ErrorCode::kRunFailed);
  EXPECT_THAT(drawing.error().hint, HasSubstr("space"));
}

TEST(Plot, Ticks) {
  EXPECT_THAT(axis_ticks(0, 1000, false), ElementsAre(0, 200, 400, 600, 800, 1000));
  EXPECT_THAT(axis_ticks(1, 1000, true), ElementsAre(1, 10, 100, 1000));
  EXPECT_THAT(axis_ticks(2, 2, false), ElementsAre(2));
  EXPECT_EQ(axis_ticks(0.27, 0.29, true).front(), axis_ticks(0.27, 0.29, false).front());
  EXPECT_EQ(tick_text(60000, 20000), "60,000");
  EXPECT_EQ(tick_text(-1234567, 1), "-1,234,567");
  EXPECT_EQ(tick_text(-100, 50), "-100");
  EXPECT_EQ(tick_text(0.27, 0.005), "0.270");
  EXPECT_EQ(tick_text(0, 0.5), "0.0");
  EXPECT_EQ(tick_text(0.001, 0), "0.001");
  EXPECT_EQ(tick_text(1e-7, 0), "10⁻⁷");
  EXPECT_EQ(tick_text(3e12, 0), "3×10¹²");
  EXPECT_EQ(tick_text(-1e8, 0), "-10⁸");
  EXPECT_EQ(tick_text(5e-5, 5e-5), "0.00005") << "as its neighbours";
}

bool same_color(const PlotStyle& a, const PlotStyle& b) { return a.color == b.color; }
bool same_dash(const PlotStyle& a, const PlotStyle& b) { return a.dash == b.dash; }
bool same_point(const PlotStyle& a, const PlotStyle& b) { return a.point == b.point; }

// Apart in two of three, whichever are seen: a line in colour, a point in colour, a line with points in grey.
void expect_apart(const std::vector<PlotStyle>& styles) {
  for (std::size_t a = 0; a < styles.size(); ++a)
    for (std::size_t b = 0; b < a; ++b) {
      EXPECT_FALSE(same_color(styles[a], styles[b]) && same_dash(styles[a], styles[b])) << a << " and " << b;
      EXPECT_FALSE(same_color(styles[a], styles[b]) && same_point(styles[a], styles[b])) << a << " and " << b;
      EXPECT_FALSE(same_dash(styles[a], styles[b]) && same_point(styles[a], styles[b])) << a << " and " << b;
    }
}

TEST(Plot, EveryStyleOfThePaletteIsDistinct) {
  for (std::size_t a = 0; a < 8; ++a)
    for (std::size_t b = 0; b < a; ++b) {
      EXPECT_NE(palette_style(a).color, palette_style(b).color);
      EXPECT_NE(palette_style(a).dash, palette_style(b).dash);
      EXPECT_NE(palette_style(a).point, palette_style(b).point);
    }
  EXPECT_EQ(palette_style(8).color, palette_style(0).color);
  for (std::size_t a = 0; a < kPaletteStyles; ++a)
    for (std::size_t b = 0; b < a; ++b)
      EXPECT_FALSE(same_color(palette_style(a), palette_style(b)) &&
                   same_dash(palette_style(a), palette_style(b)))
          << a << " and " << b;
  std::vector<PlotStyle> first;
  for (std::size_t a = 0; a < 16; ++a) first.push_back(palette_style(a));
  expect_apart(first);
}

TEST(Plot, AlgorithmsOfOnePictureHaveStylesOfTheirOwn) {
  std::vector<std::string> names = {"a1", "fl", "a2", "mfl", "gd", "mgd"};
  while (names.size() < 16) names.push_back("b" + std::to_string(names.size()));
  const std::vector<PlotStyle> styles = algorithm_styles(names);
  ASSERT_EQ(styles.size(), names.size());
  expect_apart(styles);
  for (const std::size_t i : {1U, 3U, 4U, 5U}) {
    EXPECT_EQ(styles[i].color, algorithm_style(names[i]).color);
    EXPECT_EQ(styles[i].dash, algorithm_style(names[i]).dash);
  }
  EXPECT_NE(algorithm_style("fl").dash, algorithm_style("mfl").dash);
  EXPECT_TRUE(algorithm_styles({}).empty());
}

Plot many_lines(std::size_t count) {
  Plot plot{.name = "many", .title = "", .x = {"t"}, .y = {"loss"}, .series = {}};
  for (std::size_t i = 0; i < count; ++i) {
    PlotSeries series{
        .title = std::to_string(i), .x = {}, .y = {}, .low = {}, .high = {}, .style = palette_style(i)};
    for (int x = 0; x <= 100; ++x) {
      series.x.push_back(x);
      series.y.push_back(static_cast<double>(i) + x);
    }
    plot.series.push_back(std::move(series));
  }
  return plot;
}

TEST(Plot, ManyLinesHaveTheirPointsAndSoHasTheLegend) {
  const std::string circle = "xlink:href='#many_gpPt6'";  // of style 0
  EXPECT_EQ(count_of(draw(many_lines(6))->svg, circle), 0U);
  EXPECT_EQ(count_of(draw(many_lines(7))->svg, circle), 7U) << "six on the line, one in the legend";
  Plot sparse = many_lines(7);
  sparse.series[0].x = {0, 100};
  sparse.series[0].y = {0, 100};
  EXPECT_EQ(count_of(draw(sparse)->svg, circle), 3U) << "no point where there is no value";
}

TEST(Plot, TheLegendShowsTheBand) {
  const std::string translucent = "fill-opacity";
  Plot plot = two_lines();
  const std::size_t with = count_of(draw(plot)->svg, translucent);
  plot.series[0].title.clear();
  EXPECT_EQ(with, count_of(draw(plot)->svg, translucent) + 1) << "one sample less";
  plot.series[0].low.clear();
  plot.series[0].high.clear();
  EXPECT_EQ(count_of(draw(plot)->svg, translucent), 0U);
}

}  // namespace
}  // namespace mfl
