// Unpacking gzip (zlib).
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "mfl/base/result.h"

namespace mfl {

// Whether the bytes start as a gzip file does.
bool is_gzip(std::string_view bytes);

// The unpacked bytes of one or more gzip members. More than `limit` are not unpacked: the answer then is the
// first limit + 1 bytes. A stream that is cut short, corrupt, or followed by anything else is kBadData;
// `path` is for the message.
Result<std::string> gunzip(std::string_view packed, std::size_t limit, const std::filesystem::path& path);

// Deflate cannot pack better than this, so a packed file bounds what it can hold.
inline constexpr std::size_t kGzipMostRatio = 1032;

}  // namespace mfl
