#include "mfl/report/page.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "mfl/base/version.h"
#include "mfl/report/page_style.h"
#include "mfl/report/typeset.h"

namespace mfl {
namespace {

// The length of the UTF-8 sequence at the start of `text`, 0 when there is none.
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  const std::size_t length = first < 0x80                    ? 1
                             : first >= 0xC2 && first < 0xE0 ? 2
                             : first >= 0xE0 && first < 0xF0 ? 3
                             : first >= 0xF0 && first < 0xF5 ? 4
                                                             : 0;
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0U) != 0x80U) return 0;
  if (length == 3 && ((first == 0xE0 && byte(1) < 0xA0) || (first == 0xED && byte(1) >= 0xA0))) return 0;
  if (length == 4 && ((first == 0xF0 && byte(1) < 0x90) || (first == 0xF4 && byte(1) >= 0x90))) return 0;
  return length;
}

std::string escaped(std::string_view text, bool keep_newlines) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    const char c = text.front();
    if (length == 0)
      out += "\xEF\xBF\xBD";
    else if (length > 1 || (c == '\n' && keep_newlines))
      out += text.substr(0, length);
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)
      out += '?';
    else if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else if (c == '\'')
      out += "&#39;";
    else
      out += c;
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

std::string_view tone_class(Tone tone) {
  switch (tone) {
    case Tone::kGood: return "good";
    case Tone::kLimited: return "limited";
    case Tone::kBad: return "bad";
    case Tone::kNeutral: return "neutral";
  }
  return "neutral";
}

// From the svg element on: in HTML there is no place for an XML declaration.
std::string_view svg_element(std::string_view svg) {
  const std::size_t at = svg.find("<svg");
  return at == std::string_view::npos ? std::string_view() : svg.substr(at);
}

// The greys of figures, as gnuplot writes them without blanks, and the page's variables for them. Every other
// colour means something and is the same in light and dark.
constexpr std::array<std::array<std::string_view, 2>, 8> kGreys = {{{"black", "--ink"},
                                                                    {"rgb(0,0,0)", "--ink"},
                                                                    {"rgb(68,68,68)", "--axis"},
                                                                    {"rgb(138,138,138)", "--mark"},
                                                                    {"rgb(187,187,187)", "--guide"},
                                                                    {"rgb(221,221,221)", "--grid"},
                                                                    {"white", "--page"},
                                                                    {"rgb(255,255,255)", "--page"}}};

std::string grey_as_variable(std::string_view value) {
  std::string plain(value);
  std::erase(plain, ' ');
  for (const auto& [grey, variable] : kGreys)
    if (plain == grey) return fmt::format("var({}, {})", variable, grey);
  return std::string(value);
}

// The element with its greys as variables. Attributes are in tags only: a title may hold any text.
std::string themed(std::string_view svg) {
  std::string out;
  while (!svg.empty()) {
    const std::size_t open = std::min(svg.find('<'), svg.size());
    const std::size_t close = std::min(svg.find('>', open), svg.size());
    out += svg.substr(0, open);
    std::string_view tag = svg.substr(open, close - open);
    svg.remove_prefix(close);
    while (!tag.empty()) {
      std::size_t next = std::string_view::npos;
      for (const std::string_view name : {" fill=", " stroke=", " color="})
        next = std::min(next, tag.find(name) == std::string_view::npos ? next : tag.find(name) + name.size());
      if (next >= tag.size()) break;
      const std::size_t end = std::min(tag.find(tag[next], next + 1), tag.size());
      out += fmt::format("{}{}", tag.substr(0, next + 1),
                         grey_as_variable(tag.substr(next + 1, end - next - 1)));
      tag.remove_prefix(end);
    }
    out += tag;
  }
  return out;
}

std::string text_html(std::string_view text, bool maths) {
  return maths ? typeset_html(text) : html_escaped(text);
}

std::string cell_html(const PageCell& cell, const Column& column, bool maths) {
  std::string text = text_html(cell.text, maths);
  if (cell.badge) text = fmt::format("<span class=\"badge {}\">{}</span>", tone_class(*cell.badge), text);
  if (cell.code) text = fmt::format("<code>{}</code>", text);
  return fmt::format("<td{} data-title=\"{}\">{}</td>",
                     column.align == Align::kRight ? " class=\"number\"" : "", html_escaped(column.title),
                     text);
}

struct BlockHtml {
  std::string operator()(const PageParagraph& block) const {
    return fmt::format("<p>{}</p>\n", html_escaped(block.text));
  }
  std::string operator()(const PageList& block) const {
    std::string out = "<ul>\n";
    for (const std::string& item : block.items) out += fmt::format("<li>{}</li>\n", html_escaped(item));
    return out + "</ul>\n";
  }
  std::string operator()(const PageCode& block) const {
    const std::string code = fmt::format("<pre tabindex=\"0\">{}</pre>\n", escaped(block.text, true));
    if (block.summary.empty()) return code;
    return fmt::format("<details><summary>{}</summary>\n{}</details>\n", html_escaped(block.summary), code);
  }
  std::string operator()(const PageTable& block) const {
    std::string out =
        fmt::format("<div class=\"table\" tabindex=\"0\"><table{}>\n", block.prose ? " class=\"prose\"" : "");
    if (!block.caption.empty()) out += fmt::format("<caption>{}</caption>\n", html_escaped(block.caption));
    out += "<thead><tr>";
    for (const Column& column : block.columns)
      out +=
          fmt::format("<th scope=\"col\"{}>{}</th>", column.align == Align::kRight ? " class=\"number\"" : "",
                      text_html(column.title, block.maths));
    out += "</tr></thead>\n<tbody>\n";
    for (const auto& row : block.rows) {
      out += "<tr>";
      for (std::size_t c = 0; c < block.columns.size(); ++c)
        out += cell_html(c < row.size() ? row[c] : PageCell{}, block.columns[c], block.maths);
      out += "</tr>\n";
    }
    return out + "</tbody>\n</table></div>\n";
  }
  std::string operator()(const PageFigures& block) const {
    std::string out = "<div class=\"figures\">\n";
    for (const PageFigure& figure : block)
      out += fmt::format(
          "<figure id=\"{0}\"><div role=\"img\" "
          "aria-label=\"{1}\">{2}</div>\n<figcaption>{1}</figcaption></figure>\n",
          html_escaped(figure.name), html_escaped(figure.caption), themed(svg_element(figure.drawing.svg)));
    return out + "</div>\n";
  }
};

}  // namespace

std::string html_escaped(std::string_view text) { return escaped(text, false); }

std::string page_html(const Page& page) {
  std::string out = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"generator\" content=\"{} {}\">\n"
      "<link rel=\"icon\" href=\"data:,\">\n<title>{}</title>\n<style>\n{}</style>\n</head>\n<body>\n<main>\n"
      "<header><h1>{}</h1>\n<p class=\"lead\">{}</p></header>\n",
      kPageGenerator, version(), html_escaped(page.title), kPageStyle, html_escaped(page.title),
      html_escaped(page.lead));
  if (page.sections.size() > 1) {
    out += "<nav aria-label=\"Contents\"><ul>\n";
    for (const PageSection& section : page.sections)
      out += fmt::format("<li><a href=\"#{}\">{}</a></li>\n", html_escaped(section.id),
                         html_escaped(section.title));
    out += "</ul></nav>\n";
  }
  for (const PageSection& section : page.sections) {
    out += fmt::format("<section id=\"{}\">\n<h2>{}</h2>\n", html_escaped(section.id),
                       html_escaped(section.title));
    for (const PageBlock& block : section.blocks) out += std::visit(BlockHtml{}, block);
    out += "</section>\n";
  }
  return out + "</main>\n</body>\n</html>\n";
}

}  // namespace mfl
