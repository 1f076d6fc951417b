// The two ways to the network that fetching knows.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "mfl/base/result.h"

namespace mfl {

// The body at an https URL, at most `limit` bytes. Redirects stay on https. Errors are kNetwork.
Result<std::string> download(const std::string& url, std::size_t limit);

// Installs the package, without running its scripts, into folder/node_modules. Errors are kNetwork.
Result<void> npm_install(const std::string& package, const std::filesystem::path& folder);

}  // namespace mfl
