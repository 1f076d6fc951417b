#include "mfl/report/table.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

namespace mfl {
namespace {

constexpr std::string_view kColumnGap = "  ";

// Code points, which is near enough to what a terminal shows.
std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

}  // namespace

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

void Table::add(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  for (std::string& cell : cells) cell = printable(cell);
  rows_.push_back(std::move(cells));
}

std::string Table::text(std::size_t limit) const {
  std::vector<std::size_t> widths, shown;
  std::size_t total = 0;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    std::size_t widest = width(columns_[c].title);
    for (const auto& row : rows_) widest = std::max(widest, width(row[c]));
    widths.push_back(widest);
    shown.push_back(c);
    total += widest + (c > 0 ? kColumnGap.size() : 0);
  }
  while (limit > 0 && total > limit) {
    const auto least =
        std::ranges::max_element(shown, {}, [&](std::size_t c) { return columns_[c].optional; });
    if (least == shown.end() || columns_[*least].optional == 0) break;
    total -= widths[*least] + kColumnGap.size();
    shown.erase(least);
  }
  const auto line = [&](auto cell) {
    std::string written;
    for (const std::size_t c : shown) {
      const std::string text = cell(c);
      const std::string padding(widths[c] - width(text), ' ');
      if (!written.empty()) written += kColumnGap;
      written += columns_[c].align == Align::kRight ? padding + text : text + padding;
    }
    written.erase(written.find_last_not_of(' ') + 1);
    return written + "\n";
  };
  std::string out = line([&](std::size_t c) { return columns_[c].title; });
  out += line([&](std::size_t c) { return std::string(widths[c], '-'); });
  for (const auto& row : rows_) out += line([&](std::size_t c) { return row[c]; });
  return out;
}

std::string printable(std::string_view text) {
  std::string out(text);
  std::replace_if(
      out.begin(), out.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20U || c == 0x7f; }, '?');
  return out;
}

std::string number_text(double value) { return fmt::format("{:.6g}", value); }
std::string number_text(const std::optional<double>& value) { return value ? number_text(*value) : "-"; }
std::string count_text(const std::optional<std::uint64_t>& value) {
  return value ? fmt::format("{}", *value) : "-";
}

std::string short_text(std::string_view text, std::size_t width) {
  if (text.size() <= width) return std::string(text);
  std::size_t kept = width - 2;
  while (kept > 0 && (static_cast<unsigned char>(text[kept]) & 0xC0U) == 0x80U) --kept;
  return std::string(text.substr(0, kept)) + "..";
}

std::string percent_text(const std::optional<double>& share) {
  return share ? fmt::format("{:.2f} %", 100 * *share) : "-";
}

std::string bytes_text(const std::optional<std::uint64_t>& bytes) {
  constexpr std::array<std::string_view, 6> kUnits = {"kB", "MB", "GB", "TB", "PB", "EB"};
  if (!bytes) return "-";
  if (*bytes == 0) return "0";
  if (*bytes < 1000) return fmt::format("{} B", *bytes);
  double amount = static_cast<double>(*bytes) / 1000;
  std::size_t unit = 0;
  // 999.95 would be written as 1000.0.
  for (; amount >= 999.95 && unit + 1 < kUnits.size(); ++unit) amount /= 1000;
  return fmt::format("{:.1f} {}", amount, kUnits.at(unit));
}

std::string seconds_text(const std::optional<double>& seconds) {
  return seconds ? fmt::format("{:.4g} s", *seconds) : "-";
}

std::string digest_text(std::string_view digest) {
  return digest.empty() ? "-" : std::string(digest.substr(0, 12));
}

}  // namespace mfl
