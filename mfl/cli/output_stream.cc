#include "mfl/cli/output_stream.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "mfl/base/files.h"

namespace mfl::cli {
namespace {

namespace fs = std::filesystem;

bool is_direct(const std::string& path) {
  std::error_code unseen;
  const fs::file_status status = fs::status(path, unseen);
  return fs::is_character_file(status) || fs::is_fifo(status);
}

}  // namespace

void OutputStream::Close::operator()(std::FILE* file) const {
  if (file != stdout) std::fclose(file);
}

tl::unexpected<Error> OutputStream::failure() const {
  return fail(ErrorCode::kRunFailed,
              fmt::format("cannot write {}: {}", path_ == "-" ? "stdout" : path_, std::strerror(errno)));
}

Result<OutputStream> OutputStream::open(const std::string& path) {
  if (path == "-") return OutputStream(path, {}, stdout);
  MFL_CHECK(prepare_output(path));
  FileBeside beside;
  if (!is_direct(path)) {
    MFL_TRY(beside, make_file_beside(path));
  }
  OutputStream out(path, beside.path.string(),
                   is_direct(path) ? std::fopen(path.c_str(), "wb") : ::fdopen(beside.descriptor, "wb"));
  if (!out.file_) return out.failure();
  return out;
}

OutputStream::~OutputStream() {
  std::error_code unseen;
  if (file_ && !partial_.empty()) fs::remove(partial_, unseen);
}

Result<void> OutputStream::write(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), file_.get()) != text.size()) return failure();
  return {};
}

Result<void> OutputStream::finish() {
  if (std::fflush(file_.get()) != 0) return failure();
  if (partial_.empty()) return {};
  if (::fsync(::fileno(file_.get())) != 0 || std::rename(partial_.c_str(), path_.c_str()) != 0)
    return failure();
  file_.reset();
  return {};
}

}  // namespace mfl::cli
