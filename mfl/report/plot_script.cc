#include "mfl/report/plot_script.h"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "mfl/base/files.h"
#include "mfl/report/gnuplot.h"
#include "mfl/report/table.h"

namespace mfl {
namespace {

constexpr double kCharacterWidth = 8.2;

std::string whole_script(const PlotScript& script) {
  const auto terminal = [](std::string_view how, std::string_view file) {
    return fmt::format("set terminal {}\nset output '{}'\n", how, file);
  };
  constexpr double kInchesPerPixel = 0.75 / 72;
  return "set encoding utf8\n" + script.commands +
         terminal(fmt::format("svg size {},{} dynamic noenhanced font 'sans-serif,14' name 'figure'",
                              script.width, script.height),
                  "figure.svg") +
         script.drawing +
         terminal(fmt::format("pngcairo size {},{} noenhanced font 'sans,14' fontscale 1.5 linewidth 2 "
                              "pointscale 2 background rgb 'white'",
                              2 * script.width, 2 * script.height),
                  "figure.png") +
         script.drawing + "set output\nif (strstrt(GPVAL_TERMINALS, 'pdfcairo') > 0) {\n" +
         terminal(fmt::format("pdfcairo size {:.4f}in,{:.4f}in noenhanced font 'sans,14' fontscale 0.75 "
                              "linewidth 0.75 pointscale 0.75",
                              kInchesPerPixel * script.width, kInchesPerPixel * script.height),
                  "figure.pdf") +
         script.drawing + "set output\n}\n";
}

// cairo writes the time of day into a PDF, always as many characters.
std::string without_date(std::string pdf) {
  constexpr std::string_view kBefore = "/CreationDate (D:";
  constexpr std::string_view kDigits = "20000101000000";
  if (const std::size_t at = pdf.find(kBefore); at != std::string::npos)
    for (std::size_t i = 0; i < kDigits.size() && at + kBefore.size() + i < pdf.size(); ++i)
      pdf[at + kBefore.size() + i] = kDigits[i];
  return pdf;
}

// gnuplot uses the same ids in every file; several figures in one document need ids of their own.
std::string own_ids(std::string tag, std::string_view name) {
  for (const std::string_view before : {" id='", " id=\"", "href='#", "url(#"})
    for (std::size_t at = tag.find(before); at != std::string::npos; at = tag.find(before, at + 1))
      tag.insert(at + before.size(), fmt::format("{}_", name));
  return tag;
}

// Ids in tags only: a title may hold any text.
std::string with_own_ids(const std::string& svg, std::string_view name) {
  std::string out;
  std::size_t at = 0;
  while (at < svg.size()) {
    const std::size_t open = std::min(svg.find('<', at), svg.size());
    const std::size_t close = std::min(svg.find('>', open), svg.size());
    out += svg.substr(at, open - at) + own_ids(svg.substr(open, close - open), name);
    at = close;
    if (at < svg.size()) out += svg[at++];
  }
  return out;
}

}  // namespace

// In single quotes gnuplot expands nothing, and only a quote ends them. Doubling it fails at the start of a
// string, so an apostrophe takes its place.
std::string gnuplot_string(std::string_view text) {
  std::string out = "'";
  for (const char c : printable(text)) out += c == '\'' ? "\xE2\x80\x99" : std::string(1, c);
  return out + "'";
}

double text_width(std::string_view text) {
  double width = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte & 0xC0U) == 0x80U) continue;  // the rest of a character
    width += byte >= 'A' && byte <= 'Z' ? 1.3 * kCharacterWidth : kCharacterWidth;
  }
  return width;
}

std::string label_script(std::string_view text, double x, double y, const PlotSize& size,
                         std::string_view how) {
  return fmt::format("set label {} at screen {:.6f},{:.6f} {} noenhanced\n", gnuplot_string(text),
                     x / size.width, 1 - y / size.height, how);
}

std::string margins_script(const PlotMargins& margins, const PlotSize& size) {
  return fmt::format(
      "set lmargin at screen {:.6f}\nset rmargin at screen {:.6f}\n"
      "set tmargin at screen {:.6f}\nset bmargin at screen {:.6f}\n",
      margins.left / size.width, 1 - margins.right / size.width, 1 - margins.top / size.height,
      margins.bottom / size.height);
}

void PlotRange::take(double value, bool log) {
  if (!std::isfinite(value) || (log && value <= 0)) return;
  low = std::min(low, value);
  high = std::max(high, value);
}

PlotRange padded(PlotRange range, const PlotAxis& axis, double margin) {
  if (range.empty()) range = axis.log ? PlotRange{1, 10} : PlotRange{0, 1};
  if (axis.log) {
    const double factor = range.low == range.high ? 2 : std::pow(range.high / range.low, margin);
    range = {range.low / factor, range.high * factor};
  } else {
    const double width = range.high - range.low;
    const double more = width > 0 ? margin * width : std::max(std::abs(range.low), 1.0) * 0.05;
    range = {range.low - more, range.high + more};
  }
  if (axis.low) range.low = *axis.low;
  if (axis.high) range.high = *axis.high;
  return range;
}

PlotTicks ticks_of(const PlotAxis& axis, const PlotRange& range) {
  PlotTicks ticks{axis_ticks(range.low, range.high, axis.log), {}};
  const double step = axis.log && range.high / range.low >= 10 ? 0
                      : ticks.at.size() > 1                    ? ticks.at[1] - ticks.at[0]
                                                               : 0;
  for (const double at : ticks.at) ticks.texts.push_back(tick_text(at, step));
  return ticks;
}

std::string axis_script(char letter, const PlotAxis& axis, const PlotRange& range) {
  const PlotTicks ticks = ticks_of(axis, range);
  std::vector<std::string> labels;
  for (std::size_t i = 0; i < ticks.at.size(); ++i)
    labels.push_back(fmt::format("{} {:.17g}", gnuplot_string(ticks.texts[i]), ticks.at[i]));
  return fmt::format("{}set {}range [{:.17g}:{:.17g}]\nset {}tics ({})\n",
                     axis.log ? fmt::format("set logscale {}\n", letter) : "", letter, range.low, range.high,
                     letter, fmt::join(labels, ", "));
}

Result<Drawing> render(const PlotScript& script) {
  auto folder = TempFolder::make();
  if (!folder) return tl::unexpected<Error>(std::move(folder).error());
  MFL_CHECK(write_file(folder->path() / "figure.gp", whole_script(script)));
  if (auto drawn_it = run_gnuplot(folder->path(), "figure.gp"); !drawn_it)
    return fail_because(drawn_it.error(), fmt::format("cannot draw figure {}", script.name));
  MFL_TRY(std::string svg, read_file(folder->path() / "figure.svg"));
  MFL_TRY(std::string png, read_file(folder->path() / "figure.png"));
  // gnuplot does not notice a disk that is full.
  if (svg.find("</svg>") == std::string::npos || png.find("IEND") == std::string::npos)
    return fail(ErrorCode::kRunFailed,
                fmt::format("cannot draw figure {}: gnuplot left half a file in {}", script.name,
                            folder->path().parent_path().string()),
                "check that the temporary folder has space");
  std::error_code ignored;
  std::string pdf;
  if (const auto path = folder->path() / "figure.pdf"; std::filesystem::exists(path, ignored)) {
    MFL_TRY(pdf, read_file(path));
    pdf = without_date(std::move(pdf));
  }
  return Drawing{with_own_ids(svg, script.name), std::move(png), std::move(pdf)};
}

}  // namespace mfl
