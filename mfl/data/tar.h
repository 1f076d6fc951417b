// Reading tar archives (ustar, and what GNU tar and npm write of it).
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "mfl/base/result.h"

namespace mfl {

// The plain files of an unpacked archive by their names; the contents are views into `bytes`. Nothing is
// written anywhere. Links, folders and extended headers are skipped. An archive that is cut short or has a
// damaged header is kBadData; `path` is for the message.
Result<std::map<std::string, std::string_view>> tar_members(std::string_view bytes,
                                                            const std::filesystem::path& path);

}  // namespace mfl
