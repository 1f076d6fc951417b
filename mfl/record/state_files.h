// Checkpoints that are too large for a row of the store: files in a folder beside it, named after run and round.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "mfl/base/result.h"

namespace mfl {

// A file is written before the transaction whose row refers to it and removed after the one that lets go of it, so a row
// never lacks its file; a file that no row refers to is what a crash between the two left behind.
class StateFiles {
 public:
  explicit StateFiles(const std::filesystem::path& store) : folder_(store.string() + ".states") {}

  // It survives a power cut once this has returned.
  Result<void> write(std::string_view run, std::uint64_t round, std::string_view bytes) const;
  Result<std::string> read(std::string_view run, std::uint64_t round) const;
  // Removes the run's other files. What cannot be removed stays for the next time.
  void keep_only(std::string_view run, std::span<const std::uint64_t> rounds) const;

 private:
  std::filesystem::path file(std::string_view run, std::uint64_t round) const;

  std::filesystem::path folder_;
};

}  // namespace mfl
