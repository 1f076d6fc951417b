#include "mfl/base/files.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
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

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

fs::path home_relative(const char* variable, const char* below_home) {
  if (const char* set = std::getenv(variable); set != nullptr && *set != '\0') return set;
  const char* home = std::getenv("HOME");
  return fs::path(home != nullptr && *home != '\0' ? home : ".") / below_home;
}

}  // namespace

Result<FileReader> FileReader::open(const fs::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return fail(ErrorCode::kBadData, fmt::format("cannot open {}: {}", path.string(), system_reason()));
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
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0)
    return fail(ErrorCode::kBadData, fmt::format("cannot open {}: {}", path.string(), system_reason()));
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

Result<void> write_file(const fs::path& path, std::string_view bytes) {
  const fs::path beside = path.string() + fmt::format(".tmp-{}", ::getpid());
  const auto give_up = [&](std::string_view what) {
    const std::string reason = system_reason();
    ::unlink(beside.c_str());
    return fail(ErrorCode::kRunFailed, fmt::format("cannot {} {}: {}", what, path.string(), reason),
                "check that the folder exists, is writable and has space");
  };
  {
    const FileDescriptor file(::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (file.get() < 0) return give_up("create");
    if (!write_all(file.get(), bytes)) return give_up("write");
    if (::fsync(file.get()) != 0) return give_up("sync");
  }
  if (::rename(beside.c_str(), path.c_str()) != 0) return give_up("replace");
  return {};
}

Result<void> sync_folder(const fs::path& path) {
  const FileDescriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() >= 0 && ::fsync(folder.get()) == 0) return {};
  return fail(ErrorCode::kRunFailed, fmt::format("cannot sync folder {}: {}", path.string(), system_reason()),
              "check that the folder exists and that the disk is well");
}

Result<void> make_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error)
    return fail(ErrorCode::kRunFailed,
                fmt::format("cannot make folder {}: {}", path.string(), error.message()),
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
                fmt::format("cannot make a temporary folder in {}: {}", base.string(), system_reason()),
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
