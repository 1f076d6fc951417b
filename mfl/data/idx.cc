#include "mfl/data/idx.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mfl/base/files.h"
#include "mfl/data/gzip.h"

namespace mfl {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kUnsignedByte = 8;
constexpr std::size_t kLongestHeader = 4 + 4 * 255;
constexpr const char* kGetIdxAgain = "get the file again";

struct Header {
  std::size_t length = 0;  // bytes of the header itself
  std::size_t rows = 0;
  std::size_t columns = 1;  // product of the other dimensions
  std::size_t file_length() const { return length + rows * columns; }
};

std::size_t big_endian(std::string_view bytes, std::size_t at) {
  std::size_t value = 0;
  for (std::size_t i = at; i < at + 4; ++i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

Result<Header> parse_header(std::string_view bytes, bool images, const fs::path& path) {
  if (bytes.empty()) return bad_file(path, "the file is empty", kGetIdxAgain);
  if (bytes.size() < 4)
    return bad_file(path, fmt::format("truncated in the magic number at byte {}", bytes.size()),
                    kGetIdxAgain);
  const std::size_t magic = big_endian(bytes, 0);
  const std::size_t type = magic >> 8;
  const std::size_t rank = magic & 255;
  if (type != kUnsignedByte || (images ? rank < 2 : rank != 1))
    return bad_file(path,
                    fmt::format("bad magic 0x{:08x} at byte 0, expected {}", magic,
                                images ? "0x00000803 (unsigned bytes, rank 2 or more)"
                                       : "0x00000801 (unsigned bytes, rank 1)"),
                    "this is no IDX file of that kind; were images and labels swapped?");
  Header header{.length = 4 + 4 * rank};
  if (bytes.size() < header.length)
    return bad_file(path, fmt::format("truncated in the header at byte {}", bytes.size()), kGetIdxAgain);
  header.rows = big_endian(bytes, 4);
  for (std::size_t i = 1; i < rank; ++i) {
    const std::size_t extent = big_endian(bytes, 4 + 4 * i);
    if (extent != 0 && header.columns > std::numeric_limits<std::uint32_t>::max() / extent)
      return bad_file(path,
                      fmt::format("impossible size {} of dimension {} at byte {}", extent, i, 4 + 4 * i),
                      kGetIdxAgain);
    header.columns *= extent;
  }
  if (header.rows == 0 || header.columns == 0)
    return bad_file(path, "holds no samples (a size in the header is 0)", kGetIdxAgain);
  return header;
}

// On disk, or in memory where `held` is given.
struct File {
  const fs::path& path;
  std::optional<std::string_view> held = std::nullopt;

  std::size_t size() const {
    std::error_code ignored;
    return held ? held->size() : fs::file_size(path, ignored);
  }
  Result<std::size_t> read(std::uint64_t offset, std::span<std::uint8_t> out) const {
    if (!held) return read_part(path, offset, std::as_writable_bytes(out));
    const std::string_view part = held->substr(std::min<std::size_t>(offset, held->size()), out.size());
    std::copy(part.begin(), part.end(), out.begin());
    return part.size();
  }
  Result<std::string> whole() const { return held ? std::string(*held) : read_data_file(path); }
};

struct IdxArray {
  Header header;
  std::vector<std::uint8_t> body;
};

// The first bytes, unpacked: enough for any header.
struct Beginning {
  std::string bytes;
  std::string packed;  // the whole file, if it is packed
};

Result<Beginning> read_beginning(const File& file) {
  std::array<std::uint8_t, kLongestHeader> first = {};
  auto found = file.read(0, first);
  if (!found) found.error().hint = kCheckPath;
  MFL_CHECK(found);
  std::string bytes(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(*found));
  if (!is_gzip(bytes)) return Beginning{std::move(bytes), {}};
  MFL_TRY(std::string packed, file.whole());
  MFL_TRY(bytes, gunzip(packed, kLongestHeader, file.path));
  return Beginning{std::move(bytes), std::move(packed)};
}

Result<std::vector<std::uint8_t>> unpack_body(const Header& header, const std::string& packed,
                                              const fs::path& path) {
  MFL_TRY(const std::string file, gunzip(packed, header.file_length(), path));
  const auto first = file.begin() + static_cast<std::ptrdiff_t>(std::min(header.length, file.size()));
  return std::vector<std::uint8_t>(first, file.end());
}

// Straight into place: one copy of the data is in memory.
Result<std::vector<std::uint8_t>> read_body(const Header& header, const File& file) {
  std::vector<std::uint8_t> body(header.rows * header.columns);
  MFL_TRY(const std::size_t found, file.read(header.length, body));
  body.resize(found);
  return body;
}

tl::unexpected<Error> truncated(const fs::path& path, std::size_t expected, std::string_view what,
                                std::size_t found) {
  return bad_file(
      path, fmt::format("truncated: the header promises {} bytes, the {}byte {}", expected, what, found),
      kGetIdxAgain);
}

tl::unexpected<Error> over_long(const fs::path& path, std::size_t expected) {
  return bad_file(path,
                  fmt::format("over-long: the header promises {} bytes, but data continues from byte {}",
                              expected, expected),
                  kGetIdxAgain);
}

Result<void> check_length(const File& file, const Header& header) {
  const std::size_t size = file.size(), expected = header.file_length();
  if (size < expected) return truncated(file.path, expected, "file ends at ", size);
  if (size > expected) return over_long(file.path, expected);
  return {};
}

tl::unexpected<Error> images_without_labels(const fs::path& images, std::size_t image_count,
                                            const fs::path& labels, std::size_t label_count) {
  return bad_file(labels,
                  fmt::format("{} labels, but {} holds {} images", label_count, images.string(), image_count),
                  "images and labels must come from the same set");
}

class IdxRows final : public RowSource {
 public:
  IdxRows(FileReader file, const Header& header, std::vector<double> labels,
          std::shared_ptr<const Origin> origin)
      : RowSource({header.rows, header.columns, 1.0 / 255, false}, std::move(labels), std::move(origin)),
        file_(std::move(file)),
        header_(header) {}
  Result<Features> read(std::span<const std::uint32_t> rows) const override {
    MFL_TRY(auto bytes, read_rows<std::uint8_t>(file_, header_.length, header_.columns, rows));
    return DenseRows<std::uint8_t>{std::move(bytes)};
  }

 private:
  FileReader file_;
  Header header_;
};

Result<IdxArray> read_array(const File& file, bool images) {
  const fs::path& path = file.path;
  MFL_TRY(const Beginning beginning, read_beginning(file));
  MFL_TRY(const Header header, parse_header(beginning.bytes, images, path));
  const bool packed = !beginning.packed.empty();
  const std::size_t expected = header.file_length();
  if (packed && expected / kGzipMostRatio > beginning.packed.size())
    return truncated(path, expected, "unpacked file ends at most at ",
                     beginning.packed.size() * kGzipMostRatio);
  if (!packed) MFL_CHECK(check_length(file, header));
  MFL_TRY(auto body, packed ? unpack_body(header, beginning.packed, path) : read_body(header, file));
  if (header.length + body.size() < expected)
    return truncated(path, expected, packed ? "unpacked file ends at " : "file ends at ",
                     header.length + body.size());
  if (header.length + body.size() > expected) return over_long(path, expected);
  return IdxArray{header, std::move(body)};
}

Result<Dataset> read(const File& images, const File& labels, std::vector<std::string> known_classes) {
  MFL_TRY(IdxArray x, read_array(images, true));
  MFL_TRY(const IdxArray y, read_array(labels, false));
  if (x.header.rows != y.header.rows)
    return images_without_labels(images.path, x.header.rows, labels.path, y.header.rows);
  Dataset data{
      .rows = x.header.rows, .columns = x.header.columns, .scale = 1.0 / 255, .features = {}, .labels = {}};
  data.features = DenseRows<std::uint8_t>{std::move(x.body)};
  data.labels.assign(y.body.begin(), y.body.end());
  data.origin = origin_at(labels.path, std::move(known_classes));
  return data;
}

}  // namespace

Result<Dataset> read_idx(const fs::path& images, const fs::path& labels,
                         std::vector<std::string> known_classes) {
  return read({images}, {labels}, std::move(known_classes));
}

Result<Dataset> parse_idx(const FileBytes& images, const FileBytes& labels) {
  return read({images.path, images.bytes}, {labels.path, labels.bytes}, {});
}

Result<std::unique_ptr<RowSource>> open_idx_rows(const fs::path& images, const fs::path& labels,
                                                 std::vector<std::string> known_classes) {
  MFL_TRY(const Beginning beginning, read_beginning({images}));
  if (!beginning.packed.empty()) return nullptr;
  MFL_TRY(const Header header, parse_header(beginning.bytes, true, images));
  MFL_CHECK(check_length({images}, header));
  MFL_TRY(const IdxArray y, read_array({labels}, false));
  if (header.rows != y.header.rows) return images_without_labels(images, header.rows, labels, y.header.rows);
  MFL_TRY(FileReader file, FileReader::open(images));
  return std::make_unique<IdxRows>(std::move(file), header, std::vector<double>(y.body.begin(), y.body.end()),
                                   origin_at(labels, std::move(known_classes)));
}

}  // namespace mfl
