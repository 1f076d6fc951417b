// Plain-text tables and the numbers in them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mfl {

enum class Align { kLeft, kRight };

struct Column {
  std::string title;
  Align align = Align::kLeft;
  // 0: always shown. Else, where a table is too wide for its limit, columns are left out from the largest
  // number down.
  int optional = 0;
};

// Columns two spaces apart under a header and a rule. Control characters in cells become '?', so that a cell
// is one line and cannot steer a terminal. Distinct objects may be used from distinct threads.
class Table {
 public:
  explicit Table(std::vector<Column> columns);
  // Cells beyond the last column are dropped, missing ones are empty.
  void add(std::vector<std::string> cells);
  // Every line ends with a newline, none with a space. At most `width` columns wide where leaving out
  // optional columns achieves that; 0: no limit.
  std::string text(std::size_t width = 0) const;

  const std::vector<Column>& columns() const { return columns_; }
  const std::vector<std::vector<std::string>>& rows() const { return rows_; }

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// The text with the replacements of a cell.
std::string printable(std::string_view text);

// What is absent is "-".
std::string number_text(double value);  // 6 significant digits
std::string number_text(const std::optional<double>& value);
std::string count_text(const std::optional<std::uint64_t>& value);
// At most `width` characters, the last of them ".." where something is left out.
std::string short_text(std::string_view text, std::size_t width);
// "84.04 %"
std::string percent_text(const std::optional<double>& share);
// "0", "999 B", "3.1 MB": powers of 1000.
std::string bytes_text(const std::optional<std::uint64_t>& bytes);
// "0.25 s", "93.5 s", "5230 s": at most four significant digits.
std::string seconds_text(const std::optional<double>& seconds);
// The first 12 digits.
std::string digest_text(std::string_view digest);

}  // namespace mfl
