#include "mfl/data/libsvm.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace mfl {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kLargestIndex = 0x7fffffff;  // as LIBSVM itself

// Cuts the first word off the text.
std::string_view next_word(std::string_view& text) {
  text = trim(text);
  const std::size_t end = std::min(text.find_first_of(" \t"), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(end);
  return word;
}

struct Place {
  const fs::path& path;
  std::size_t line;
};

Result<double> finite_number(std::string_view text, std::string_view what, const Place& place) {
  const auto value = parse_number(text);
  if (value && std::isfinite(*value)) return *value;
  return bad_line(place.path, place.line,
                  fmt::format("{} is not {}: {}", what, value ? "finite" : "a number", excerpt(text)),
                  "write each line as: label index:value index:value ...");
}

Result<std::uint64_t> checked_index(std::string_view pair, std::size_t colon, std::uint64_t previous,
                                    std::uint64_t largest, const Place& place) {
  const auto index = colon == std::string_view::npos ? std::nullopt : parse_count(pair.substr(0, colon));
  if (!index)
    return bad_line(place.path, place.line, fmt::format("{} is not an index:value pair", excerpt(pair)),
                    "write each line as: label index:value index:value ...");
  if (*index == 0) return bad_line(place.path, place.line, "index 0", "indices count from 1: add 1 to each");
  if (*index == previous)
    return bad_line(place.path, place.line, fmt::format("duplicate index {}", *index), "keep one of them");
  if (*index < previous)
    return bad_line(place.path, place.line, fmt::format("unsorted: index {} after {}", *index, previous),
                    "sort the pairs of each line by index");
  if (*index > largest)
    return bad_line(place.path, place.line,
                    fmt::format("index {} is larger than {}, the number of features", *index, largest),
                    "the file has more features than expected");
  return *index;
}

// Appends the line's sample; gives its largest index.
Result<std::uint64_t> append_line(std::string_view text, std::uint64_t largest, const Place& place,
                                  SparseRows<double>& rows, std::vector<double>& labels) {
  MFL_TRY(const double label, finite_number(next_word(text), "the label", place));
  std::uint64_t previous = 0;
  for (std::string_view pair = next_word(text); !pair.empty(); pair = next_word(text)) {
    const std::size_t colon = pair.find(':');
    MFL_TRY(previous, checked_index(pair, colon, previous, largest, place));
    MFL_TRY(const double value,
            finite_number(pair.substr(colon + 1), fmt::format("the value of index {}", previous), place));
    rows.columns.push_back(static_cast<std::uint32_t>(previous - 1));
    rows.values.push_back(value);
  }
  rows.starts.push_back(rows.values.size());
  labels.push_back(label);
  return previous;
}

}  // namespace

Result<Dataset> read_libsvm(const fs::path& path, std::optional<std::size_t> columns) {
  MFL_TRY(const std::string bytes, read_data_file(path));
  MFL_CHECK(refuse_packed({bytes, path}));
  return parse_libsvm({bytes, path}, columns);
}

namespace {

Result<Dataset> parse_lines(const FileBytes& file, std::optional<std::size_t> columns,
                            std::size_t first_line) {
  const fs::path& path = file.path;
  const std::uint64_t largest = std::min<std::uint64_t>(columns.value_or(kLargestIndex), kLargestIndex);
  SparseRows<double> rows;
  rows.starts.push_back(0);
  Dataset data;
  Origin origin;
  std::uint64_t seen = 0;
  std::string_view rest = file.bytes;
  for (std::size_t line = first_line; !rest.empty(); ++line) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view text = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const std::string_view sample = trim(text.substr(0, text.find('#')));
    if (sample.empty()) continue;
    MFL_TRY(const std::uint64_t index, append_line(sample, largest, {path, line}, rows, data.labels));
    origin.lines.push_back(static_cast<std::uint32_t>(line));
    seen = std::max(seen, index);
  }
  data.rows = data.labels.size();
  data.columns = columns.value_or(seen);
  data.features = std::move(rows);
  origin.path = path;
  origin.labels = data.labels;
  data.origin = std::make_shared<const Origin>(std::move(origin));
  return data;
}

}  // namespace

Result<Dataset> parse_libsvm(const FileBytes& file, std::optional<std::size_t> columns) {
  MFL_TRY(Dataset data, parse_lines(file, columns, 1));
  if (data.rows == 0)
    return bad_file(file.path, "the file is empty: no samples", "give a line for each sample");
  if (data.columns == 0)
    return bad_file(file.path, "no sample has any feature", "write each line as: label index:value ...");
  return data;
}

Result<Dataset> parse_libsvm_part(const FileBytes& lines, std::size_t columns, std::size_t first_line) {
  return parse_lines(lines, columns, first_line);
}

}  // namespace mfl
