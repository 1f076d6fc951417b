#include "mfl/record/folder_lock.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <thread>
#include <utility>

#include "mfl/record/run.h"

namespace mfl {
namespace {

namespace fs = std::filesystem;

constexpr const char* kName = "lock";
constexpr std::chrono::milliseconds kPause{20};

std::string system_reason() { return std::strerror(errno); }  // NOLINT(concurrency-mt-unsafe)

// 0, or errno.
int try_lock(int fd) {
  struct flock whole = {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  return ::fcntl(fd, F_OFD_SETLK, &whole) == 0 ? 0 : errno;  // NOLINT(cppcoreguidelines-pro-type-vararg)
}

// "process 12 on host since 2026-01-31T09:30:00Z", or an empty text.
std::string owner_of(int fd) {
  std::array<char, 400> bytes{};
  const ssize_t count = ::pread(fd, bytes.data(), bytes.size(), 0);
  const std::string_view text(bytes.data(), count > 0 ? static_cast<std::size_t>(count) : 0);
  std::string line(text.substr(0, text.find('\n')));
  for (char& c : line)
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = '?';
  return line.empty() ? "another process" : line;
}

Result<void> sign(int fd, const fs::path& path) {
  const Owner owner = this_process();
  const std::string line = fmt::format("process {} on {} since {:%Y-%m-%dT%H:%M:%SZ}\n", owner.pid,
                                       owner.host, fmt::gmtime(std::time(nullptr)));
  if (::ftruncate(fd, 0) == 0 &&
      ::pwrite(fd, line.data(), line.size(), 0) == static_cast<ssize_t>(line.size()))
    return {};
  return fail(ErrorCode::kRunFailed, fmt::format("cannot write {}: {}", path.string(), system_reason()),
              "check that the folder is writable and has space");
}

}  // namespace

bool names_file(const fs::path& path, int fd) {
  struct stat named = {}, open = {};
  return ::stat(path.c_str(), &named) == 0 && ::fstat(fd, &open) == 0 && named.st_dev == open.st_dev &&
         named.st_ino == open.st_ino;
}

Result<FolderLock> FolderLock::acquire(const fs::path& folder, std::chrono::milliseconds patience,
                                       const std::function<void(const std::string& owner)>& waiting) {
  constexpr mode_t kOwnerOnly = 0600;
  const fs::path path = folder / kName;
  const auto until = std::chrono::steady_clock::now() + patience;
  for (bool told = false;; told = true) {
    const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kOwnerOnly);
    if (fd < 0)
      return fail(ErrorCode::kRunFailed, fmt::format("cannot open {}: {}", path.string(), system_reason()),
                  "check the permissions of the folder, or choose another with --state");
    FolderLock lock(folder, fd);
    const int error = try_lock(fd);
    if (error == 0 && names_file(path, fd)) {
      MFL_CHECK(sign(fd, path));
      return lock;
    }
    if (error != 0 && error != EAGAIN && error != EACCES && error != EINTR)
      return fail(ErrorCode::kRunFailed,
                  fmt::format("cannot lock {}: {}", path.string(),
                              std::strerror(error)),  // NOLINT(concurrency-mt-unsafe)
                  "use a folder on a local disk or on NFSv4, whose file systems have locks");
    const std::string owner = owner_of(fd);
    if (std::chrono::steady_clock::now() >= until)
      return fail(ErrorCode::kBadConfig, fmt::format("{} is served by {}", folder.string(), owner),
                  "stop it, or choose another folder with --state");
    if (!told && waiting) waiting(owner);
    std::this_thread::sleep_for(kPause);
  }
}

FolderLock::FolderLock(FolderLock&& other) noexcept
    : folder_(std::move(other.folder_)), fd_(std::exchange(other.fd_, -1)) {}

FolderLock::~FolderLock() {
  if (fd_ >= 0) ::close(fd_);
}

Result<void> FolderLock::check() const {
  if (names_file(folder_ / kName, fd_)) return {};
  return fail(
      ErrorCode::kRunFailed,
      fmt::format("{} was deleted or replaced while the server was running", (folder_ / kName).string()),
      "make sure that no other server uses the folder, and start the server again");
}

}  // namespace mfl
