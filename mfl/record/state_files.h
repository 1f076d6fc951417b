// Checkpoints and weights of models that are too large for a row of the store: files in a folder beside it, named after run and round, or
// after the run whose model it is.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mfl/base/result.h"

namespace mfl {

// A file is written before the transaction that adds the row referring to it, and removed after the transaction that removes
// that row, so a row never lacks its file. A file that no row refers to was left behind by a crash in between.
class StateFiles {
 public:
  explicit StateFiles(const std::filesystem::path& store) : folder_(store.string() + ".states") {}

  // The file survives a power failure once this has returned.
  Result<void> write(std::string_view run, std::uint64_t round, std::string_view bytes) const;
  Result<std::string> read(std::string_view run, std::uint64_t round) const;
  // The same of the run's model.
  Result<void> write_model(std::string_view run, std::string_view bytes) const;
  Result<std::string> read_model(std::string_view run) const;
  // The files whose names are those of a State, in any order.
  struct Name {
    std::string run;
    std::uint64_t round = 0;
  };
  std::vector<Name> list() const;
  const std::filesystem::path& folder() const { return folder_; }

  // Removes the run's other files, its model among them unless it is to stay. Files that cannot be removed are left for the next call.
  void keep_only(std::string_view run, std::span<const std::uint64_t> rounds, bool with_model) const;
  // Removes all files of the runs, in one pass over the folder.
  void remove(std::span<const std::string> runs) const;

 private:
  std::filesystem::path file(std::string_view run, std::uint64_t round) const;
  std::filesystem::path model_file(std::string_view run) const;
  Result<void> write_to(const std::filesystem::path& path, std::string_view bytes) const;
  void remove_if(const std::function<bool(std::string_view name)>& goes) const;

  std::filesystem::path folder_;
};

}  // namespace mfl
