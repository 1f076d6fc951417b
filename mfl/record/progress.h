// A witness of committed rounds outside the store: STATE/progress. SQLite drops the end of a damaged write-ahead log without
// a word, and a store that was deleted looks like one that was never made; this file tells both from a store that is whole.
//
// 1,024 bytes: two slots, at 0 and 512, written in turn. A slot is "MFLPROG1", u64 number of the write, the run's id (8 bytes), u64 round,
// 32 bytes of digest, and the SHA-256 of these 64 bytes; numbers are little-endian, the rest is zero.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "mfl/base/result.h"

namespace mfl {

struct CommittedMark {
  std::string run;          // 8 characters
  std::uint64_t round = 0;  // the last that was committed; 0: the run was created
  std::string digest;       // 32 bytes: the last of the committed checkpoint; empty if there is none

  bool operator==(const CommittedMark&) const = default;
};

// Move-only. Not thread-safe.
class ProgressFile {
 public:
  // Reads the file, if there is one; changes nothing. An error only if it cannot be read.
  static Result<ProgressFile> open(const std::filesystem::path& path);
  ProgressFile(ProgressFile&& other) noexcept;
  ProgressFile& operator=(ProgressFile&&) = delete;
  ~ProgressFile();

  const std::filesystem::path& path() const { return path_; }
  bool exists() const { return exists_; }                             // when it was opened
  int damaged() const { return damaged_; }                            // slots, when it was opened
  const std::optional<CommittedMark>& last() const { return last_; }  // from an intact slot, or written

  // Replaces the file; survives a power failure.
  Result<void> reset(const CommittedMark& progress);
  // After reset(). Survives the end of the process, but only reaches the disk when the system writes it: after a power failure the
  // file may name an earlier round than the store, never a later one. A copy of 96 bytes into mapped memory: a write()
  // would change the file's times, and the next fsync() of the store would pay for that.
  Result<void> note(const CommittedMark& progress);

 private:
  explicit ProgressFile(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
  bool exists_ = false;
  int damaged_ = 0;
  std::uint64_t number_ = 0;  // of the last write
  std::optional<CommittedMark> last_;
  void unmap();

  int fd_ = -1;
  char* slots_ = nullptr;  // the file, mapped
};

}  // namespace mfl
