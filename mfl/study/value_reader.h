// Typed access to the values of a study file, with errors that name file and line.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mfl/base/result.h"
#include "mfl/config/file_value.h"
#include "mfl/study/plan.h"

namespace mfl {

// A text of the file in quotes, with '?' for control characters: a message stays on its line.
std::string quoted_text(std::string_view text);

// `what` names the value in messages. Errors are kBadConfig.
class ValueReader {
 public:
  using Words = std::span<const std::string_view>;

  // `file` must outlive the reader.
  explicit ValueReader(std::string_view file) : file_(file) {}
  std::string_view file() const { return file_; }

  tl::unexpected<Error> wrong(std::uint32_t line, std::string_view message, std::string hint = {}) const;
  // An error for a key that is not known, with the nearest one.
  Result<void> check_keys(const FileValue& table, std::string_view where, Words known) const;
  Result<const FileValue*> need(const FileValue& table, std::string_view key, std::string_view where) const;
  Result<std::string> text_of(const FileValue& value, std::string_view what) const;
  Result<double> number_of(const FileValue& value, std::string_view what) const;
  Result<const std::vector<FileValue>*> list_of(const FileValue& value, std::string_view what) const;
  Result<std::vector<std::string>> texts_of(const FileValue& value, std::string_view what) const;
  // Ascending and different.
  Result<std::vector<double>> numbers_of(const FileValue& value, std::string_view what) const;
  Result<std::vector<double>> steps_of(const FileValue& value, std::string_view what) const;
  Result<std::vector<std::uint64_t>> seeds_of(const FileValue& value, std::string_view what) const;
  // set = { "model.lambda" = 0.1 } or set = { model.lambda = 0.1 }; keys without a table are in `table`.
  Result<std::vector<KeyValue>> overrides_of(const FileValue& value, std::string_view what,
                                             std::string_view table = {}) const;

 private:
  Result<void> add_overrides(std::vector<KeyValue>& out, const FileValue& value, const std::string& table,
                             std::string_view what) const;
  std::string_view file_;
};

}  // namespace mfl
