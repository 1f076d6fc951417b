// One process per folder, decided by the operating system.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>

#include "mfl/base/result.h"

namespace mfl {

// An exclusive lock on the file FOLDER/lock, held until the object is destroyed or the process ends, however it ends. Every process
// that sees the same file is kept out: other users, other containers that share the volume and, over NFSv4, other
// hosts. It is an open file description lock (fcntl F_OFD_SETLK): unlike flock() it is a lock of the NFS protocol itself, and unlike
// a classic POSIX lock it is not lost when this process closes another descriptor of the file, and it also keeps
// out a second holder in this process. The file stays when the lock is released and must not be deleted: its name is what
// processes agree on. It holds one line about its owner, for people. Move-only; not thread-safe.
class FolderLock {
 public:
  // Waits up to `patience` for an owner that is about to end; `waiting`, if given, is called once with a text that
  // names that owner. The folder exists. kBadConfig if it is served by another, kRunFailed if the file system has no locks.
  static Result<FolderLock> acquire(const std::filesystem::path& folder, std::chrono::milliseconds patience,
                                    const std::function<void(const std::string& owner)>& waiting = {});
  FolderLock(FolderLock&& other) noexcept;
  FolderLock& operator=(FolderLock&&) = delete;
  ~FolderLock();

  // An error if the file was deleted or replaced: another process could then lock the new one. Costs one stat().
  Result<void> check() const;

 private:
  FolderLock(std::filesystem::path folder, int fd) : folder_(std::move(folder)), fd_(fd) {}
  std::filesystem::path folder_;
  int fd_;
};

// True if both name the same file now: false if either is missing. `fd` is an open descriptor.
bool names_file(const std::filesystem::path& path, int fd);

}  // namespace mfl
