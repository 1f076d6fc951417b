// A report as a value, written as one self-contained HTML file: no network access, no script.
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "mfl/report/plot.h"
#include "mfl/report/table.h"

namespace mfl {

// What a badge says at a glance; the colour never says it alone.
enum class Tone { kGood, kLimited, kBad, kNeutral };

struct PageCell {
  std::string text;
  std::optional<Tone> badge = {};  // absent: plain text
  bool code = false;               // in the typeface for digests, ids and keys
};

struct PageTable {
  std::string caption;
  std::vector<Column> columns;
  std::vector<std::vector<PageCell>> rows;
  bool maths = false;  // cells hold formulas, which are typeset (typeset.h)
  bool prose = false;  // cells are sentences: on a narrow screen each row becomes a block of its own
};

struct PageFigure {
  std::string name;     // unique in the page: the figure's anchor
  std::string caption;  // "Figure 4a. ..."
  Drawing drawing;
};

struct PageParagraph {
  std::string text;
};
struct PageList {
  std::vector<std::string> items;
};
// Shown as it is, line by line.
struct PageCode {
  std::string text;
  std::string summary = {};  // not empty: all that is seen until a reader opens it
};
// Side by side where there is room.
using PageFigures = std::vector<PageFigure>;

using PageBlock = std::variant<PageParagraph, PageList, PageCode, PageTable, PageFigures>;

struct PageSection {
  std::string id;  // its anchor: letters, digits and '-'
  std::string title;
  std::vector<PageBlock> blocks;
};

struct Page {
  std::string title;
  std::string lead;  // one paragraph under the title
  std::vector<PageSection> sections;
};

// Every text is escaped; bytes that are not UTF-8 are replaced. The same page gives the same bytes.
std::string page_html(const Page& page);

// The text with &, <, > and quotes as entities, control characters as '?'.
std::string html_escaped(std::string_view text);

}  // namespace mfl
