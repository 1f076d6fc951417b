#include "mfl/base/files.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <random>
#include <utility>

namespace mfl {
namespace {

namespace fs = std::filesystem;

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

std::string system_reason() { return std::strerror(errno); }  // NOLINT(concurrency-mt-unsafe)

// Why `mode` is neither a file to read nor one to replace; empty for a regular file.
std::string_view other_kind(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFDIR: return "it is a folder";
    case S_IFIFO: return "it is a FIFO";
    case S_IFCHR: return "it is a character device";
    case S_IFBLK: return "it is a block device";
    case S_IFSOCK: return "it is a socket";
    default: return "";
  }
}

// A descriptor for a regular file. Never waits, as opening a FIFO would.
Result<int> open_to_read(const fs::path& path) {
  const auto cannot = [&](std::string_view why) {
    return fail(ErrorCode::kBadData, fmt::format("cannot open {}: {}", path.string(), why));
  };
  const auto not_a_file = [&](std::string_view kind) {
    return fail(ErrorCode::kBadData, fmt::format("cannot read {}: {}", path.string(), kind),
                "name a regular file");
  };
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) return cannot(system_reason());
  if (const auto kind = other_kind(found.st_mode); !kind.empty()) return not_a_file(kind);
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return cannot(system_reason());
  if (::fstat(fd, &found) == 0 && other_kind(found.st_mode).empty()) return fd;
  ::close(fd);
  return not_a_file("it is no longer a regular file");
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

// Where the bytes of an output go.
struct Target {
  fs::path path;                           // no symbolic link, unless to a stream
  bool stream = false;                     // a device or FIFO: written to, never replaced
  std::optional<mode_t> permissions = {};  // the permissions of the replaced file
};

constexpr const char* kWriteHint = "check that the folder exists, is writable and has space";

Result<fs::path> follow_links(fs::path path) {
  constexpr int kMostLinks = 40;
  std::error_code error;
  for (int links = 0; fs::is_symlink(fs::symlink_status(path, error)); ++links) {
    const fs::path to = fs::read_symlink(path, error);
    if (error || links == kMostLinks)
      return fail(ErrorCode::kRunFailed,
                  fmt::format("cannot write {}: {}", path.string(),
                              error ? error.message() : "too many levels of symbolic links"));
    path = path.parent_path() / to;
  }
  return path;
}

Result<Target> find_target(const fs::path& path) {
  struct stat found {};
  const bool exists = ::stat(path.c_str(), &found) == 0;
  if (exists && (S_ISCHR(found.st_mode) || S_ISFIFO(found.st_mode))) return Target{path, true};
  if (exists && !other_kind(found.st_mode).empty())
    return fail(ErrorCode::kRunFailed,
                fmt::format("cannot write {}: {}", path.string(), other_kind(found.st_mode)), "name a file");
  Target target;
  MFL_TRY(target.path, follow_links(path));
  if (exists) target.permissions = static_cast<mode_t>(found.st_mode & 0777);
  return target;
}

// Keeps a reader that has gone away from ending the process: write() then fails with EPIPE.
class WithoutSigpipe {
 public:
  WithoutSigpipe() {
    sigset_t pending;
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigpending(&pending);
    mine_ = sigismember(&pending, SIGPIPE) == 0;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  WithoutSigpipe(const WithoutSigpipe&) = delete;
  WithoutSigpipe& operator=(const WithoutSigpipe&) = delete;
  ~WithoutSigpipe() {
    constexpr timespec kNow{};
    if (mine_) sigtimedwait(&pipe_, nullptr, &kNow);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t pipe_{}, before_{};
  bool mine_ = false;  // none was pending before
};

Result<void> write_stream(const fs::path& path, std::string_view bytes) {
  const auto give_up = [&](std::string_view reason) {
    return fail(ErrorCode::kRunFailed, fmt::format("cannot write {}: {}", path.string(), reason));
  };
  const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (file.get() < 0 && errno == ENXIO) return give_up("no process reads from it");
  if (file.get() < 0) return give_up(system_reason());
  ::fcntl(file.get(), F_SETFL, ::fcntl(file.get(), F_GETFL) & ~O_NONBLOCK);
  const WithoutSigpipe guard;
  if (!write_all(file.get(), bytes)) return give_up(system_reason());
  return {};
}

fs::path home_relative(const char* variable, const char* below_home) {
  if (const char* set = std::getenv(variable); set != nullptr && *set != '\0') return set;
  const char* home = std::getenv("HOME");
  return fs::path(home != nullptr && *home != '\0' ? home : ".") / below_home;
}

}  // namespace

Result<FileReader> FileReader::open(const fs::path& path) {
  MFL_TRY(const int fd, open_to_read(path));
  return FileReader(path, fd);
}

FileReader::FileReader(FileReader&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}

FileReader& FileReader::operator=(FileReader&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  return *this;
}

FileReader::~FileReader() {
  if (fd_ >= 0) ::close(fd_);
}

Result<std::size_t> FileReader::read(std::uint64_t offset, std::span<std::byte> out) const {
  std::size_t found = 0;
  while (found < out.size()) {
    const ssize_t n =
        ::pread(fd_, out.data() + found, out.size() - found, static_cast<off_t>(offset + found));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0)
      return fail(ErrorCode::kBadData, fmt::format("cannot read {}: {}", path_.string(), system_reason()));
    if (n == 0) break;
    found += static_cast<std::size_t>(n);
  }
  return found;
}

Result<std::size_t> read_part(const fs::path& path, std::uint64_t offset, std::span<std::byte> out) {
  MFL_TRY(const FileReader file, FileReader::open(path));
  return file.read(offset, out);
}

Result<std::string> read_file(const fs::path& path) {
  MFL_TRY(const int fd, open_to_read(path));
  const FileDescriptor file(fd);
  std::string bytes;
  std::error_code ignored;
  if (const auto size = fs::file_size(path, ignored); !ignored) bytes.reserve(size + 1);
  char chunk[1 << 16];
  for (;;) {
    const ssize_t n = ::read(file.get(), chunk, sizeof chunk);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0)
      return fail(ErrorCode::kBadData, fmt::format("cannot read {}: {}", path.string(), system_reason()));
    if (n == 0) return bytes;
    bytes.append(chunk, static_cast<std::size_t>(n));
  }
}

Result<FileBeside> make_file_beside(const fs::path& target, Readers readers) {
  constexpr int kFresh = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, kTries = 16;
  constexpr mode_t kOwner = 0600, kAnybody = 0644;
  std::random_device device;
  for (int i = 0; i < kTries; ++i) {
    FileBeside out{target.string() + fmt::format(".tmp-{:08x}", device()), -1};
    out.descriptor = ::open(out.path.c_str(), kFresh, readers == Readers::kOwner ? kOwner : kAnybody);
    if (out.descriptor >= 0) return out;
    if (errno != EEXIST) break;
  }
  return fail(ErrorCode::kRunFailed, fmt::format("cannot create {}: {}", target.string(), system_reason()),
              kWriteHint);
}

Result<void> write_file(const fs::path& path, std::string_view bytes, Readers readers) {
  MFL_TRY(const Target target, find_target(path));
  if (target.stream) return write_stream(target.path, bytes);
  MFL_TRY(const FileBeside fresh, make_file_beside(target.path, readers));
  const fs::path& beside = fresh.path;
  const auto give_up = [&](std::string_view what) {
    const std::string reason = system_reason();
    ::unlink(beside.c_str());
    return fail(ErrorCode::kRunFailed, fmt::format("cannot {} {}: {}", what, path.string(), reason),
                kWriteHint);
  };
  {
    const FileDescriptor file(fresh.descriptor);
    if (target.permissions && readers == Readers::kAnybody && ::fchmod(file.get(), *target.permissions) != 0)
      return give_up("create");
    if (!write_all(file.get(), bytes)) return give_up("write");
    if (::fsync(file.get()) != 0) return give_up("sync");
  }
  if (::rename(beside.c_str(), target.path.c_str()) != 0) return give_up("replace");
  return {};
}

Result<void> prepare_output(const fs::path& path) {
  MFL_TRY(const Target target, find_target(path));
  const fs::path folder = target.path.has_parent_path() ? target.path.parent_path() : fs::path(".");
  if (!target.stream) MFL_CHECK(make_folder(folder));
  if (::access(target.stream ? target.path.c_str() : folder.c_str(), target.stream ? W_OK : W_OK | X_OK) == 0)
    return {};
  return fail(ErrorCode::kRunFailed, fmt::format("cannot write {}: {}", path.string(), system_reason()),
              kWriteHint);
}

Result<void> sync_folder(const fs::path& path) {
  const FileDescriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() >= 0 && ::fsync(folder.get()) == 0) return {};
  return fail(ErrorCode::kRunFailed, fmt::format("cannot sync folder {}: {}", path.string(), system_reason()),
              "check that the folder exists and that the disk is healthy");
}

Result<void> make_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error)
    return fail(ErrorCode::kRunFailed,
                fmt::format("cannot create folder {}: {}", path.string(), error.message()),
                "check the permissions of its parent");
  return {};
}

fs::path cache_folder() {
  if (const char* set = std::getenv("MFL_CACHE"); set != nullptr && *set != '\0') return set;
  return home_relative("XDG_CACHE_HOME", ".cache") / "mfl";
}

fs::path default_store_path() {
  if (const char* set = std::getenv("MFL_STORE"); set != nullptr && *set != '\0') return set;
  return home_relative("XDG_DATA_HOME", ".local/share") / "mfl" / "runs.db";
}

Result<TempFolder> TempFolder::make(const fs::path& parent) {
  std::error_code error;
  fs::path base = parent.empty() ? fs::temp_directory_path(error) : parent;
  if (error) base = "/tmp";
  std::string name = (base / "mfl-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr)
    return fail(ErrorCode::kRunFailed,
                fmt::format("cannot create a temporary folder in {}: {}", base.string(), system_reason()),
                "check that it is writable and has space");
  return TempFolder(fs::path(name));
}

TempFolder::TempFolder(TempFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}

TempFolder& TempFolder::operator=(TempFolder&& other) noexcept {
  std::swap(path_, other.path_);
  return *this;
}

TempFolder::~TempFolder() {
  if (path_.empty()) return;
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace mfl
