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

// The whole file. Errors are kBadData and name the path and the system's reason. Only regular files are read:
// a folder, FIFO, device or socket is an error, so that reading never waits for anybody and always ends.
Result<std::string> read_file(const std::filesystem::path& path);

// A file for reading at any position. Safe to share between threads.
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

// Fills `out` with the bytes from `offset` on and returns how many there were: fewer only at the end of the
// file. Errors as for read_file.
Result<std::size_t> read_part(const std::filesystem::path& path, std::uint64_t offset,
                              std::span<std::byte> out);

// The permissions of a written file: those that the umask allows, or 0600 for its owner alone. The
// permissions of a replaced file do not matter.
enum class Readers { kAnybody, kOwner };

// A new file beside the target, to be renamed over it: nobody else can have made it. The caller closes
// `descriptor`. Errors are kRunFailed.
struct FileBeside {
  std::filesystem::path path;
  int descriptor = -1;
};
Result<FileBeside> make_file_beside(const std::filesystem::path& target, Readers readers = Readers::kAnybody);

// All or nothing: written beside the target, synced, then renamed over it. An existing file keeps its
// permissions. A symbolic link stays and its target is replaced. A character device or FIFO is written to and
// stays what it is. Folders, block devices, sockets, and FIFOs that no process reads from are errors. Errors
// are kRunFailed.
Result<void> write_file(const std::filesystem::path& path, std::string_view bytes,
                        Readers readers = Readers::kAnybody);

// To be called before work whose result write_file() will put at `path`: makes the missing folders above it
// and reports what write_file() would refuse. Errors are kRunFailed.
Result<void> prepare_output(const std::filesystem::path& path);

// Makes new and renamed files in the folder survive a power failure. Errors are kRunFailed.
Result<void> sync_folder(const std::filesystem::path& path);

// Creates the folder and its missing parents. Errors are kRunFailed.
Result<void> make_folder(const std::filesystem::path& path);

// $MFL_CACHE, else $XDG_CACHE_HOME/mfl, else ~/.cache/mfl. For downloaded data; may be deleted at any time.
std::filesystem::path cache_folder();

// $MFL_STORE, else $XDG_DATA_HOME/mfl/runs.db, else ~/.local/share/mfl/runs.db.
std::filesystem::path default_store_path();

// A new folder that is removed with its contents when the object is destroyed.
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
