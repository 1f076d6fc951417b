// Formulas as plain text, such as "|w_[k] - w*| <= 1e-06", as HTML with signs, subscripts and superscripts.
#pragma once

#include <string>
#include <string_view>

namespace mfl {

// Names of Greek letters and "grad" become signs; "_i", "_[k]" and "_FL" subscripts; "^2", "^f" and the star
// of "w*" superscripts; "3e-06" is written with a power of ten; "-", "<=" and ">=" become their signs.
// Everything else is escaped as html_escaped does.
std::string typeset_html(std::string_view text);

}  // namespace mfl
