// A file that is written piece by piece.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "mfl/base/result.h"

namespace mfl::cli {

// Not thread-safe. Errors are kRunFailed.
class OutputStream {
 public:
  // "-" is stdout. A file appears under its name when it is complete (finish()); a device or FIFO is written to directly.
  static Result<OutputStream> open(const std::string& path);
  OutputStream(OutputStream&& other) noexcept = default;
  OutputStream& operator=(OutputStream&&) = delete;
  ~OutputStream();

  Result<void> write(std::string_view text);
  // All text is in the file.
  Result<void> finish();

 private:
  struct Close {
    void operator()(std::FILE* file) const;
  };
  OutputStream(std::string path, std::string partial, std::FILE* file)
      : path_(std::move(path)), partial_(std::move(partial)), file_(file) {}
  tl::unexpected<Error> failure() const;

  std::string path_, partial_;  // no partial file for what is written directly
  std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace mfl::cli
