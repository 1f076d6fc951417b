// Internal to mfl/trained: a text file in parts of whole lines.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "mfl/base/files.h"
#include "mfl/trained/row_blocks.h"

namespace mfl {

// Not thread-safe.
class TextParts {
 public:
  // With `quotes` a line end inside double quotes does not end a line.
  static Result<TextParts> open(const std::filesystem::path& path, bool quotes);

  const std::filesystem::path& path() const { return file_.path(); }
  // The first line, with its end; before the first next().
  Result<std::string> first_line();
  // About 1 MiB, or one line if that is longer; nothing at the end. Part::first is the number of the first line, from 1.
  Result<std::optional<RowBlocks::Part>> next();

 private:
  TextParts(FileReader file, bool quotes) : file_(std::move(file)), quotes_(quotes) {}
  Result<bool> read_more();               // false at the end of the file
  std::size_t whole_lines() const;        // bytes of them in rest_
  std::size_t first_line_length() const;  // 0: it does not end in rest_
  RowBlocks::Part cut(std::size_t bytes);

  FileReader file_;
  bool quotes_;
  std::uint64_t offset_ = 0;
  std::size_t line_ = 1;
  std::string rest_;
};

}  // namespace mfl
