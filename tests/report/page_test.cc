#include "mfl/report/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mfl {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Page small_page() {
  Page page{.title = "A & B", .lead = "Lead <b>", .sections = {}};
  PageTable table{
      .caption = "Claims", .columns = {{"claim"}, {"loss", Align::kRight}, {"verdict"}}, .rows = {}};
  table.rows.push_back({{"FL > MFL"}, {"0.27"}, {"holds", Tone::kGood}});
  table.rows.push_back({{"short row"}});
  const Drawing drawing{"<?xml version=\"1.0\"?>\n<!DOCTYPE svg>\n<svg viewBox=\"0 0 1 1\"><path/></svg>\n",
                        ""};
  page.sections.push_back({"claims", "Claims", {PageParagraph{"text"}, table}});
  page.sections.push_back(
      {"figures",
       "Figures",
       {PageFigures{{"fig4a", "Figure 4a", drawing}}, PageCode{"a = \"b\"\nc"}, PageList{{"one"}}}});
  return page;
}

// Greys of a figure follow the page; colours that mean something are the same on a dark screen, where no filter turns them round.
TEST(Page, FiguresHaveTheirOwnColoursInTheDark) {
  Page page = small_page();
  const Drawing drawing{
      "<svg viewBox=\"0 0 1 1\"><g color=\"black\" fill='none' stroke='rgb( 68,  68,  68)'><path fill = "
      "'rgb(8, 41, 92)' "
      "stroke='rgb(213,  94,   0)'/><rect fill=\"rgb(255, 255, 255)\"/><text "
      "fill=\"rgb(1,1,1)\">fill='black'</text></g></svg>",
      ""};
  page.sections[1].blocks[0] = PageFigures{{"fig4a", "Figure 4a", drawing}};
  const std::string html = page_html(page);
  for (const char* part :
       {"color=\"var(--ink, black)\"", "fill='none'", "stroke='var(--axis, rgb(68,68,68))'",
        "fill = 'rgb(8, 41, 92)'", "stroke='rgb(213,  94,   0)'", "fill=\"var(--page, rgb(255,255,255))\"",
        "fill=\"rgb(1,1,1)\"", ">fill='black'<"})
    EXPECT_THAT(html, HasSubstr(part));
  for (const char* filter : {"filter:", "invert", "hue-rotate"}) EXPECT_THAT(html, Not(HasSubstr(filter)));
  const std::size_t dark = html.find("prefers-color-scheme: dark");
  ASSERT_NE(dark, std::string::npos);
  for (const char* variable : {"--ink:", "--axis:", "--mark:", "--guide:", "--grid:", "--page:"}) {
    EXPECT_LT(html.find(variable), dark) << variable;
    EXPECT_NE(html.find(variable, dark), std::string::npos) << variable;
  }
}

TEST(Page, HoldsEverythingInOrder) {
  const std::string html = page_html(small_page());
  std::size_t at = 0;
  for (const char* part :
       {"<!DOCTYPE html>", "<title>A &amp; B</title>", "<h1>A &amp; B</h1>", "Lead &lt;b&gt;",
        "href=\"#claims\"", "<section id=\"claims\">", "<caption>Claims</caption>",
        "<th scope=\"col\" class=\"number\">loss</th>", "FL &gt; MFL",
        "<td class=\"number\" data-title=\"loss\">0.27</td>", "<span class=\"badge good\">holds</span>",
        "short row", "<figure id=\"fig4a\">", "<svg viewBox", "<figcaption>Figure 4a</figcaption>",
        "a = &quot;b&quot;\nc", "<li>one</li>", "</html>"}) {
    const std::size_t found = html.find(part, at);
    ASSERT_NE(found, std::string::npos) << part;
    at = found;
  }
  EXPECT_EQ(html, page_html(small_page()));
}

TEST(Page, NeedsNothingFromElsewhere) {
  const std::string html = page_html(small_page());
  for (const char* part : {"http:", "https:", "src=", "<script", "@import", "url(", "<?xml", "<!DOCTYPE svg"})
    EXPECT_THAT(html, Not(HasSubstr(part)));
}

TEST(Page, TextCannotBecomeMarkup) {
  EXPECT_EQ(html_escaped("<a href=\"x\" on='y'>&"), "&lt;a href=&quot;x&quot; on=&#39;y&#39;&gt;&amp;");
  EXPECT_EQ(html_escaped("a\x1b[31m\n"), "a?[31m?");
  EXPECT_EQ(html_escaped("\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"), "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
  for (const char* bad : {"\xFF", "\xC3", "\xC0\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xE2\x28\xA1"})
    EXPECT_THAT(html_escaped(bad), HasSubstr("\xEF\xBF\xBD"));
}

}  // namespace
}  // namespace mfl
