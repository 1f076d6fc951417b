#include "mfl/trained/zip.h"

#include <zlib.h>

#include <cstdint>

namespace mfl {
namespace {

// The numbers of APPNOTE.TXT 6.3.10, sections 4.3.7, 4.3.12 and 4.3.16.
constexpr std::uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50;
constexpr std::size_t kLocalSize = 30, kNameLength = 26, kStoredSize = 18;
constexpr unsigned kZipVersion = 20, kUtf8 = 1U << 11U, kStored = 0;
constexpr unsigned kFirstDay = (1U << 5U) | 1U;  // 1 January 1980
constexpr std::uint64_t kMost = 0x7fffffffU;

void put(std::string& out, std::uint64_t number, unsigned bytes) {
  for (unsigned i = 0; i < bytes; ++i)
    out += static_cast<char>(static_cast<unsigned char>(number >> (8 * i)));
}

std::uint64_t take(std::string_view bytes, std::size_t at, unsigned count) {
  std::uint64_t number = 0;
  for (unsigned i = 0; i < count; ++i)
    number |= std::uint64_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
  return number;
}

std::uint64_t crc_of(std::string_view bytes) {
  return ::crc32_z(0, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
}

// What the local and the central header have in common.
void put_header(std::string& out, const ZipMember& member) {
  put(out, kZipVersion, 2);
  put(out, kUtf8, 2);
  put(out, kStored, 2);
  put(out, 0, 2);  // midnight
  put(out, kFirstDay, 2);
  put(out, crc_of(member.bytes), 4);
  put(out, member.bytes.size(), 4);
  put(out, member.bytes.size(), 4);
  put(out, member.name.size(), 2);
  put(out, 0, 2);  // no extra field
}

tl::unexpected<Error> not_ours() {
  return fail(ErrorCode::kBadData, "it is cut short, altered or not written by mfl");
}

}  // namespace

Result<std::string> make_zip(const std::vector<ZipMember>& members) {
  std::string out, directory;
  for (const ZipMember& member : members) {
    if (out.size() + member.bytes.size() + directory.size() > kMost)
      return fail(ErrorCode::kBadConfig, "the model is too large for a model file: 2 GiB or more");
    put(directory, kCentral, 4);
    put(directory, kZipVersion, 2);
    put_header(directory, member);
    put(directory, 0, 2 + 2 + 2);  // no comment, first disk, no attributes
    put(directory, 0, 4);
    put(directory, out.size(), 4);
    directory += member.name;
    put(out, kLocal, 4);
    put_header(out, member);
    out += member.name;
    out += member.bytes;
  }
  const std::size_t start = out.size();
  out += directory;
  put(out, kEnd, 4);
  put(out, 0, 4);  // the first disk, twice
  put(out, members.size(), 2);
  put(out, members.size(), 2);
  put(out, directory.size(), 4);
  put(out, start, 4);
  put(out, 0, 2);  // no comment
  return out;
}

Result<std::vector<ZipMember>> read_zip(std::string_view bytes) {
  std::vector<ZipMember> members;
  for (std::string_view rest = bytes; rest.size() > kLocalSize && take(rest, 0, 4) == kLocal;) {
    const std::uint64_t size = take(rest, kStoredSize, 4), name = take(rest, kNameLength, 2);
    if (size + name > rest.size() - kLocalSize) return not_ours();
    members.push_back({std::string(rest.substr(kLocalSize, name)),
                       std::string(rest.substr(kLocalSize + name, static_cast<std::size_t>(size)))});
    rest.remove_prefix(kLocalSize + static_cast<std::size_t>(name + size));
  }
  const auto again = make_zip(members);
  if (members.empty() || !again || *again != bytes) return not_ours();
  return members;
}

}  // namespace mfl
