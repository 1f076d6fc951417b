#include "mfl/record/progress.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "mfl/base/files.h"
#include "mfl/record/rows.h"

namespace mfl {
namespace {

constexpr std::string_view kProgressMagic = "MFLPROG1";
constexpr std::size_t kSlot = 512, kRun = 8, kDigest = 32, kNumber = 8;
constexpr std::size_t kBody = kProgressMagic.size() + kNumber + kRun + kNumber + kDigest;

void put_progress_number(std::string& out, std::uint64_t number) {
  for (unsigned i = 0; i < kNumber; ++i)
    out += static_cast<char>(static_cast<unsigned char>(number >> (8 * i)));
}

std::uint64_t get(std::string_view bytes) {
  std::uint64_t number = 0;
  for (unsigned i = 0; i < kNumber; ++i)
    number |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  return number;
}

std::string encode_mark(const CommittedMark& progress, std::uint64_t number) {
  std::string out(kProgressMagic);
  put_progress_number(out, number);
  out += progress.run;
  out.resize(kProgressMagic.size() + kNumber + kRun);
  put_progress_number(out, progress.round);
  out += progress.digest;
  out.resize(kBody);
  return out + sha256_bytes(out);
}

struct Slot {
  CommittedMark progress;
  std::uint64_t number = 0;
};

std::optional<Slot> decode(std::string_view bytes) {
  if (bytes.size() < kBody + kDigest || !bytes.starts_with(kProgressMagic)) return std::nullopt;
  const std::string_view body = bytes.substr(0, kBody);
  if (sha256_bytes(body) != bytes.substr(kBody, kDigest)) return std::nullopt;
  std::size_t at = kProgressMagic.size();
  const auto take = [&](std::size_t size) { return body.substr(std::exchange(at, at + size), size); };
  Slot slot;
  slot.number = get(take(kNumber));
  slot.progress.run = take(kRun);
  slot.progress.round = get(take(kNumber));
  slot.progress.digest = take(kDigest);
  if (slot.progress.digest == std::string(kDigest, '\0')) slot.progress.digest.clear();
  return slot;
}

}  // namespace

Result<ProgressFile> ProgressFile::open(const std::filesystem::path& path) {
  ProgressFile file(path);
  std::error_code error;
  file.exists_ = std::filesystem::exists(path, error);
  if (!error && !file.exists_) return file;
  auto bytes = read_file(path);
  if (!bytes) {
    bytes.error().code = ErrorCode::kRunFailed;
    if (bytes.error().hint.empty()) bytes.error().hint = "check the permissions of the folder and its files";
    return tl::unexpected<Error>(std::move(bytes).error());
  }
  for (const std::size_t at : {std::size_t{0}, kSlot}) {
    const auto slot = decode(std::string_view(*bytes).substr(std::min(at, bytes->size())));
    if (!slot) {
      ++file.damaged_;
    } else if (!file.last_ || slot->number > file.number_) {
      file.number_ = slot->number;
      file.last_ = slot->progress;
    }
  }
  return file;
}

ProgressFile::ProgressFile(ProgressFile&& other) noexcept
    : path_(std::move(other.path_)),
      exists_(other.exists_),
      damaged_(other.damaged_),
      number_(other.number_),
      last_(std::move(other.last_)),
      fd_(std::exchange(other.fd_, -1)),
      slots_(std::exchange(other.slots_, nullptr)) {}

ProgressFile::~ProgressFile() { unmap(); }

void ProgressFile::unmap() {
  if (slots_ != nullptr) ::munmap(std::exchange(slots_, nullptr), 2 * kSlot);
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

Result<void> ProgressFile::reset(const CommittedMark& progress) {
  number_ += number_ % 2;  // odd numbers are in the first slot
  std::string bytes = encode_mark(progress, number_ + 1);
  bytes.resize(kSlot);
  bytes += encode_mark(progress, number_ + 2);
  bytes.resize(2 * kSlot);
  MFL_CHECK(write_file(path_, bytes));
  if (path_.has_parent_path()) MFL_CHECK(sync_folder(path_.parent_path()));
  number_ += 2;
  last_ = progress;
  unmap();
  fd_ = ::open(path_.c_str(), O_RDWR | O_CLOEXEC);
  void* const mapped =
      fd_ < 0 ? MAP_FAILED : ::mmap(nullptr, 2 * kSlot, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (mapped == MAP_FAILED)
    return fail(ErrorCode::kRunFailed,
                fmt::format("cannot open {}: {}", path_.string(),
                            std::strerror(errno)),  // NOLINT(concurrency-mt-unsafe)
                "check the permissions of the folder and its files");
  slots_ = static_cast<char*>(mapped);
  return {};
}

Result<void> ProgressFile::note(const CommittedMark& progress) {
  struct stat info = {};  // memory beyond the end of a file must not be touched
  if (slots_ == nullptr || ::fstat(fd_, &info) != 0 || info.st_size < static_cast<off_t>(2 * kSlot))
    return fail(ErrorCode::kRunFailed, fmt::format("{} was cut short", path_.string()),
                "make sure that no other program writes to the folder, and start the server again");
  const std::string bytes = encode_mark(progress, ++number_);
  std::memcpy(slots_ + (number_ % 2 == 1 ? 0 : kSlot), bytes.data(), bytes.size());
  last_ = progress;
  return {};
}

}  // namespace mfl
