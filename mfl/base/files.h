// Files and folders.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "mfl/base/result.h"

namespace mfl {

// The whole file. Errors are kBadData and name the path and the system's reason.
Result<std::string> read_file(const std::filesystem::path& path);

// A file that is read here and there. Safe to share among threads.
class FileReader {
 public:
  // Errors as for read_file.
  static Result<FileReader> open(const std::filesystem::path& path);
  FileReader(FileReader&& other) noexcept;
  FileReader& operator=(FileReader&& other) noexcept;
  ~FileReader();

  const std::filesystem::path& path() const { return path_; }
  // As read_part.
  Result<std::size_t> read(std::uint64_t offset, std::span<std::byte> out) const;

 private:
  FileReader(std::filesystem::path path, int fd) : path_(std::move(path)), fd_(fd) {}
  std::filesystem::path path_;
  int fd_;
};

// Fills `out` with the bytes from `offset` on; how many there were, fewer only where the file ends. Errors as for read_file.
Result<std::size_t> read_part(const std::filesystem::path& path, std::uint64_t offset,
                              std::span<std::byte> out);

// All or nothing: written beside the target, synced, then renamed over it. Errors are kRunFailed.
Result<void> write_file(const std::filesystem::path& path, std::string_view bytes);

// Makes names in the folder, new and renamed ones, survive a power cut. Errors are kRunFailed.
Result<void> sync_folder(const std::filesystem::path& path);

// Makes the folder and its parents. Errors are kRunFailed.
Result<void> make_folder(const std::filesystem::path& path);

// $MFL_CACHE, else $XDG_CACHE_HOME/mfl, else ~/.cache/mfl. For downloaded data; may be deleted at any time.
std::filesystem::path cache_folder();

// $MFL_STORE, else $XDG_DATA_HOME/mfl/runs.db, else ~/.local/share/mfl/runs.db.
std::filesystem::path default_store_path();

// A fresh folder that is removed with all it holds when the object goes.
class TempFolder {
 public:
  // Inside `parent`, or the system's temporary folder when empty.
  static Result<TempFolder> make(const std::filesystem::path& parent = {});
  TempFolder(TempFolder&& other) noexcept;
  TempFolder& operator=(TempFolder&& other) noexcept;
  ~TempFolder();
  const std::filesystem::path& path() const { return path_; }

 private:
  explicit TempFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

}  // namespace mfl
