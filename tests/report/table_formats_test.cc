#include "mfl/report/table_formats.h"

#include <gtest/gtest.h>

namespace mfl {
namespace {

Table awkward() {
  Table table({{"name_1"}, {"loss, %", Align::kRight, 3}});
  table.add({"a|b & \"c\"", "0.27 ± 0.01"});
  table.add({"{x}\\y", "100 %"});
  return table;
}

TEST(TableFormats, Names) {
  for (const std::string& name : table_format_names()) EXPECT_TRUE(parse_table_format(name)) << name;
  const auto wrong = parse_table_format("pdf");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, ErrorCode::kBadConfig);
  EXPECT_EQ(wrong.error().text(), "unknown table format \"pdf\"");
  EXPECT_EQ(wrong.error().hint, "use one of text, markdown, csv, latex");
}

TEST(TableFormats, Text) { EXPECT_EQ(table_as(awkward(), TableFormat::kText), awkward().text()); }

TEST(TableFormats, Markdown) {
  EXPECT_EQ(table_as(awkward(), TableFormat::kMarkdown),
            "| name\\_1 | loss, % |\n"
            "| --- | ---: |\n"
            "| a\\|b \\& \"c\" | 0.27 ± 0.01 |\n"
            "| {x}\\\\y | 100 % |\n");
}

TEST(TableFormats, Csv) {
  EXPECT_EQ(table_as(awkward(), TableFormat::kCsv),
            "name_1,\"loss, %\"\n"
            "\"a|b & \"\"c\"\"\",0.27 ± 0.01\n"
            "{x}\\y,100 %\n");
}

TEST(TableFormats, Latex) {
  EXPECT_EQ(table_as(awkward(), TableFormat::kLatex),
            "\\begin{tabular}{lr}\n"
            "\\hline\n"
            "name\\_1 & loss, \\% \\\\\n"
            "\\hline\n"
            "a$|$b \\& ''c'' & 0.27 $\\pm$ 0.01 \\\\\n"
            "\\{x\\}\\textbackslash{}y & 100 \\% \\\\\n"
            "\\hline\n"
            "\\end{tabular}\n");
  EXPECT_EQ(latex_escaped("γ 0.5 ~ ^ é"), "$\\gamma$ 0.5 \\textasciitilde{} \\textasciicircum{} é");
  EXPECT_EQ(latex_escaped("[x] <y>"), "{[}x{]} $<$y$>$") << "a row must not start an optional argument";
}

TEST(TableFormats, NoCellBreaksALine) {
  Table table({{"a\nb"}});
  table.add({"c\nd"});
  EXPECT_EQ(table_as(table, TableFormat::kCsv), "a?b\nc?d\n");
  EXPECT_EQ(table_as(table, TableFormat::kMarkdown), "| a?b |\n| --- |\n| c?d |\n");
}

}  // namespace
}  // namespace mfl
