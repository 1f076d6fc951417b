// Comma-separated values, one sample per line, one column of which is the label.
// csv_stream.h reads the same files in blocks.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "mfl/base/result.h"
#include "mfl/data/dataset.h"
#include "mfl/data/text.h"

namespace mfl {

// What files may have unless a user says otherwise.
inline constexpr std::size_t kMostColumns = std::size_t{1} << 22U;

enum class CsvHeader {
  // The first line is a header if a field of it is not a number (an empty field says nothing). Where that
  // field is the label alone and its text is a label further down too, the line is a sample. Unless columns
  // are chosen by name, those that are not read do not count.
  kAuto,
  kYes,
  kNo,
};

struct CsvOptions {
  // "last" (of those that are not dropped), a column number counted from 0, or a name in the header.
  std::string label = "last";
  CsvHeader header = CsvHeader::kAuto;
  // Columns that are neither features nor the label, by name or number. They may hold any text.
  std::vector<std::string> drop = {};
  // The columns that are features, by name or number, in this order; all others but the label are ignored as
  // those of `drop` are. Empty: all that are neither the label nor dropped.
  std::vector<std::string> features = {};
  char separator = ',';  // or ';', '|', a tab
  // The column, by name or number, whose texts name the node that holds a row (Dataset::groups). It is no
  // feature. Empty: none.
  std::string group = {};
  std::size_t max_columns = kMostColumns;  // columns of a line; more are kBadData

  bool operator==(const CsvOptions&) const = default;
};

// kBadData, with the flag that admits them.
tl::unexpected<Error> too_many_columns(const std::string& where, std::size_t columns, std::size_t most);

// Features become dense f64 with scale 1. Labels are numbers, or, if one of them is not a number, classes in
// the order of class_before(); the origin has their names, those of the columns, and the lines. Fields may be
// in double quotes ("" is a quote) and surrounded by blanks, and lines may end in CRLF; blank lines are
// allowed at the end only. Text that is not UTF-8 is read as Latin-1. A ragged row, an empty field, a feature
// that is not a number, NaN, an infinity or a file without samples is kBadData; columns that do not exist, or
// are chosen for two purposes, are kBadConfig. Messages count lines and columns from 1.
Result<Dataset> read_csv(const std::filesystem::path& path, const CsvOptions& options = {});
// Parses the contents of a file.
Result<Dataset> parse_csv(const FileBytes& file, const CsvOptions& options = {});

}  // namespace mfl
