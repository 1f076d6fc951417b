#include "mfl/report/table_formats.h"

#include <fmt/core.h>
#include <fmt/format.h>

#include <array>
#include <utility>

namespace mfl {
namespace {

using Replacement = std::pair<std::string_view, std::string_view>;

constexpr std::array<Replacement, 38> kLatex = {{{"\\", "\\textbackslash{}"},
                                                 {"{", "\\{"},
                                                 {"}", "\\}"},
                                                 {"$", "\\$"},
                                                 {"&", "\\&"},
                                                 {"%", "\\%"},
                                                 {"#", "\\#"},
                                                 {"_", "\\_"},
                                                 {"~", "\\textasciitilde{}"},
                                                 {"^", "\\textasciicircum{}"},
                                                 {"<", "$<$"},
                                                 {">", "$>$"},
                                                 {"|", "$|$"},
                                                 {"±", "$\\pm$"},
                                                 {"×", "$\\times$"},
                                                 {"−", "$-$"},
                                                 {"–", "--"},
                                                 {"≤", "$\\le$"},
                                                 {"≥", "$\\ge$"},
                                                 {"α", "$\\alpha$"},
                                                 {"β", "$\\beta$"},
                                                 {"γ", "$\\gamma$"},
                                                 {"δ", "$\\delta$"},
                                                 {"ε", "$\\varepsilon$"},
                                                 {"η", "$\\eta$"},
                                                 {"λ", "$\\lambda$"},
                                                 {"μ", "$\\mu$"},
                                                 {"ρ", "$\\rho$"},
                                                 {"σ", "$\\sigma$"},
                                                 {"τ", "$\\tau$"},
                                                 {"φ", "$\\varphi$"},
                                                 {"ω", "$\\omega$"},
                                                 {"∞", "$\\infty$"},
                                                 {"→", "$\\to$"},
                                                 {"·", "$\\cdot$"},
                                                 {"\"", "''"},
                                                 {"[", "{[}"},
                                                 {"]", "{]}"}}};

std::string alignment(const Column& column, std::string_view left, std::string_view right) {
  return std::string(column.align == Align::kRight ? right : left);
}

std::string joined(const std::vector<std::string>& cells, std::string_view between,
                   std::string (*written)(std::string_view)) {
  std::vector<std::string> out;
  out.reserve(cells.size());
  for (const std::string& cell : cells) out.push_back(written(cell));
  return fmt::format("{}", fmt::join(out, between));
}

std::vector<std::string> titles(const Table& table) {
  std::vector<std::string> out;
  for (const Column& column : table.columns()) out.push_back(printable(column.title));
  return out;
}

std::string markdown(const Table& table) {
  std::string out = fmt::format("| {} |\n|", joined(titles(table), " | ", markdown_escaped));
  for (const Column& column : table.columns()) out += alignment(column, " --- |", " ---: |");
  out += "\n";
  for (const auto& row : table.rows()) out += fmt::format("| {} |\n", joined(row, " | ", markdown_escaped));
  return out;
}

std::string csv(const Table& table) {
  std::string out = joined(titles(table), ",", csv_field) + "\n";
  for (const auto& row : table.rows()) out += joined(row, ",", csv_field) + "\n";
  return out;
}

std::string latex(const Table& table) {
  std::string out = "\\begin{tabular}{";
  for (const Column& column : table.columns()) out += alignment(column, "l", "r");
  out += fmt::format("}}\n\\hline\n{} \\\\\n\\hline\n", joined(titles(table), " & ", latex_escaped));
  for (const auto& row : table.rows()) out += joined(row, " & ", latex_escaped) + " \\\\\n";
  return out + "\\hline\n\\end{tabular}\n";
}

}  // namespace

const std::vector<std::string>& table_format_names() {
  static const std::vector<std::string> names = {"text", "markdown", "csv", "latex"};
  return names;
}

Result<TableFormat> parse_table_format(std::string_view name) {
  if (name == "text") return TableFormat::kText;
  if (name == "markdown") return TableFormat::kMarkdown;
  if (name == "csv") return TableFormat::kCsv;
  if (name == "latex") return TableFormat::kLatex;
  return fail(ErrorCode::kBadConfig, fmt::format("unknown table format \"{}\"", printable(name)),
              fmt::format("use one of {}", fmt::join(table_format_names(), ", ")));
}

std::string table_as(const Table& table, TableFormat format) {
  switch (format) {
    case TableFormat::kText: return table.text();
    case TableFormat::kMarkdown: return markdown(table);
    case TableFormat::kCsv: return csv(table);
    case TableFormat::kLatex: return latex(table);
  }
  return {};
}

std::string markdown_escaped(std::string_view text) {
  constexpr std::string_view kSpecial = "\\`*_[]<>|~$&";
  std::string out;
  for (const char c : text) {
    if (kSpecial.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

std::string latex_escaped(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    std::size_t length = 1;
    std::string_view written = text.substr(0, 1);
    for (const auto& [from, to] : kLatex)
      if (text.starts_with(from)) {
        length = from.size();
        written = to;
        break;
      }
    out += written;
    text.remove_prefix(length);
  }
  return out;
}

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

}  // namespace mfl
