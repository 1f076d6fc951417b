#include "mfl/report/table.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

namespace mfl {
namespace {

constexpr std::string_view kGap = "  ";

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

std::string Table::text() const {
  std::vector<std::vector<std::string>> lines(2);
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    std::size_t widest = width(columns_[c].title);
    for (const auto& row : rows_) widest = std::max(widest, width(row[c]));
    lines[0].push_back(columns_[c].title);
    lines[1].emplace_back(widest, '-');
  }
  lines.insert(lines.end(), rows_.begin(), rows_.end());
  std::string out;
  for (const auto& line : lines) {
    std::string written;
    for (std::size_t c = 0; c < line.size(); ++c) {
      const std::string padding(width(lines[1][c]) - width(line[c]), ' ');
      if (c > 0) written += kGap;
      written += columns_[c].align == Align::kRight ? padding + line[c] : line[c] + padding;
    }
    written.erase(written.find_last_not_of(' ') + 1);
    out += written + "\n";
  }
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
