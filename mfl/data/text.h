// What the text readers share.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "mfl/base/result.h"

namespace mfl {

// All bytes of a file, and what messages call it.
struct FileBytes {
  std::string_view bytes;
  const std::filesystem::path& path;
};

// kBadData for what begins as a gzip or ZIP file does (a spreadsheet is one), and not as text.
Result<void> refuse_packed(const FileBytes& file);

// Without blanks, tabs and line ends on either side.
std::string_view trim(std::string_view text);

// The whole text as a number, whatever the locale; a leading '+' is allowed, and so are NaN and infinities.
// Nothing if it is no number or does not fit a double.
std::optional<double> parse_number(std::string_view text);

// The number at the start of [begin, end), as parse_number() reads it but without a leading '+'. Returns
// where it stops, or null if there is none.
const char* read_number(const char* begin, const char* end, double& value);

// The whole text as a count: decimal digits and nothing else.
std::optional<std::uint64_t> parse_count(std::string_view text);

// Well-formed UTF-8.
bool is_utf8(std::string_view text);

// The text as UTF-8: as it is, or taken for Latin-1 where it is not well-formed.
std::string as_utf8(std::string_view text);

// The first bytes of a text in quotes, on one line, for use in a message.
std::string excerpt(std::string_view text, std::size_t longest = 40);

inline constexpr const char* kCheckPath = "check the path and that the file may be read";

// read_file() with a hint.
Result<std::string> read_data_file(const std::filesystem::path& path);

// kBadData: "path: what".
tl::unexpected<Error> bad_file(const std::filesystem::path& path, std::string_view what,
                               std::string hint = {});
// kBadData: "path, line 7: what".
tl::unexpected<Error> bad_line(const std::filesystem::path& path, std::size_t line, std::string_view what,
                               std::string hint = {});

}  // namespace mfl
