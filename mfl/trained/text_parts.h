// Internal to mfl/trained: a text file in parts of whole lines.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "mfl/base/files.h"

namespace mfl {

// Not thread-safe.
class TextParts {
 public:
  struct Part {
    std::string text;
    std::size_t first_line = 1;
  };

  static Result<TextParts> open(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return file_.path(); }
  // About 1 MiB, or one line if that is longer; nothing at the end.
  Result<std::optional<Part>> next();

 private:
  explicit TextParts(FileReader file) : file_(std::move(file)) {}
  Result<bool> read_more();  // false at the end of the file
  Part cut(std::size_t bytes);

  FileReader file_;
  std::uint64_t offset_ = 0;
  std::size_t line_ = 1;
  std::string rest_;
};

}  // namespace mfl
