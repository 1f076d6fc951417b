// Comma-separated numbers, one sample a line, one column of which is the label.
#pragma once

#include <filesystem>
#include <string>

#include "mfl/base/result.h"
#include "mfl/data/dataset.h"
#include "mfl/data/text.h"

namespace mfl {

enum class CsvHeader {
  kAuto,  // the first line is a header if a field of it is not a number (an empty field says nothing)
  kYes,
  kNo,
};

struct CsvOptions {
  // "last", a column number counted from 0, or a name in the header.
  std::string label = "last";
  CsvHeader header = CsvHeader::kAuto;
};

// Features become dense f64 with scale 1. Fields may stand in double quotes ("" is a quote), be surrounded by
// blanks, and lines may end in CRLF; blank lines are allowed at the end only. A ragged row, an empty field, a
// non-number, NaN, an infinity or a file without samples is kBadData; a label column that is not there is
// kBadConfig. Messages count lines and columns from 1.
Result<Dataset> read_csv(const std::filesystem::path& path, const CsvOptions& options = {});
// The same from memory.
Result<Dataset> parse_csv(const FileBytes& file, const CsvOptions& options = {});

}  // namespace mfl
