// A table of a file that is not part of an experiment, as values with their lines: for commands whose files
// have a table beside the tables of Config.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mfl/base/result.h"
#include "mfl/config/config.h"

namespace mfl {

struct FileValue {
  enum class Kind { kText, kInteger, kNumber, kBoolean, kList, kTable, kOther };

  Kind kind = Kind::kTable;
  std::string text = {};              // a single value, as a flag has it
  std::vector<FileValue> items = {};  // the values of a list
  // The keys of a table, in the order of the file.
  std::vector<std::pair<std::string, FileValue>> members = {};
  std::uint32_t line = 0;  // the line in the file, counted from 1

  // Null if the table has no such key.
  const FileValue* find(std::string_view key) const;
};

// "a string", "a table", ...
std::string_view kind_name(FileValue::Kind kind);

struct FileWithTable {
  Config base;      // the other tables, over the defaults; not validated
  FileValue table;  // an empty one of line 0 if the file has none
};

// Reads an experiment file that may have the table `name`. Errors are kBadConfig and start with FILE:LINE.
Result<FileWithTable> parse_with_table(std::string_view text, std::string_view file, std::string_view name);
Result<FileWithTable> read_with_table(const std::filesystem::path& path, std::string_view name);

}  // namespace mfl
