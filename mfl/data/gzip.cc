#include "mfl/data/gzip.h"

#include <fmt/core.h>
#include <zlib.h>

#include <algorithm>

#include "mfl/data/text.h"

namespace mfl {
namespace {

constexpr int kGzipWindow = 15 + 16;  // zlib's largest window, gzip wrapper
constexpr std::size_t kPiece = std::size_t{1} << 30;

class Inflater {
 public:
  Inflater() : ready_(inflateInit2(&stream_, kGzipWindow) == Z_OK) {}
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater() {
    if (ready_) inflateEnd(&stream_);
  }
  bool ready() const { return ready_; }
  z_stream& stream() { return stream_; }

 private:
  z_stream stream_{};
  bool ready_;
};

}  // namespace

bool is_gzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }

Result<std::string> gunzip(std::string_view packed, std::size_t limit, const std::filesystem::path& path) {
  constexpr const char* kHint = "get the file again";
  Inflater inflater;
  if (!inflater.ready()) return fail(ErrorCode::kRunFailed, "zlib cannot start: out of memory");
  z_stream& stream = inflater.stream();
  std::string unpacked;
  char chunk[1 << 16];
  std::size_t at = 0;
  for (;;) {
    const std::size_t piece = std::min(packed.size() - at, kPiece);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data() + at));
    stream.avail_in = static_cast<uInt>(piece);
    stream.next_out = reinterpret_cast<Bytef*>(chunk);
    stream.avail_out = sizeof chunk;
    const int status = inflate(&stream, Z_NO_FLUSH);
    at += piece - stream.avail_in;
    unpacked.append(chunk, std::min(sizeof chunk - stream.avail_out, limit + 1 - unpacked.size()));
    if (unpacked.size() > limit) return unpacked;
    if (status == Z_STREAM_END) {
      if (at == packed.size()) return unpacked;
      if (!is_gzip(packed.substr(at)))
        return bad_file(
            path,
            fmt::format("{} bytes of garbage after the gzip data, from byte {}", packed.size() - at, at),
            kHint);
      inflateReset(&stream);
    } else if (status == Z_BUF_ERROR && at == packed.size()) {
      return bad_file(path, fmt::format("gzip data is cut short at byte {}", packed.size()), kHint);
    } else if (status != Z_OK) {
      return bad_file(path, fmt::format("gzip data is corrupt near byte {}", at), kHint);
    }
  }
}

}  // namespace mfl
