// The ways to the network that fetching knows.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "mfl/base/result.h"

namespace mfl {

// The body at an https URL, at most `limit` bytes. Redirects stay on https. Errors are kNetwork.
Result<std::string> download(const std::string& url, std::size_t limit);

// Downloads the archive of a package, without what it depends on, to `folder`, which must be empty, and
// returns its path. Nothing of it is run. Errors are kNetwork.
Result<std::filesystem::path> npm_pack(const std::string& package, const std::filesystem::path& folder);

// Downloads a Debian package with apt-get and unpacks its files below folder/files, without installing it.
// Errors are kNetwork.
Result<void> debian_unpack(const std::string& package, const std::filesystem::path& folder);

}  // namespace mfl
