// Tables in the formats of papers, pages and spreadsheets.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mfl/base/result.h"
#include "mfl/report/table.h"

namespace mfl {

enum class TableFormat { kText, kMarkdown, kCsv, kLatex };

// "text", "markdown", "csv", "latex"; another name is kBadConfig.
Result<TableFormat> parse_table_format(std::string_view name);
const std::vector<std::string>& table_format_names();

// All columns, whatever their `optional`. Every character of a cell stands for itself in every format.
//   text      as Table::text()
//   markdown  GitHub's tables, with the alignment of the columns
//   csv       RFC 4180 with '\n': a header, and fields in quotes where they need them
//   latex     a tabular environment with \hline, which needs no package. "±", "×", "−", "–" and Greek
//             letters become commands; other characters beyond ASCII stay as they are.
std::string table_as(const Table& table, TableFormat format);

// One text as a cell of that format.
std::string markdown_escaped(std::string_view text);
std::string latex_escaped(std::string_view text);
std::string csv_field(std::string_view text);

}  // namespace mfl
