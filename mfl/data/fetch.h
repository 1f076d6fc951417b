// Getting public data sets.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string_view>

#include "mfl/base/result.h"
#include "mfl/data/public_sets.h"

namespace mfl {

struct FetchOptions {
  // A folder that holds the files, plain or with .gz after their name. If given it is the only source.
  std::optional<std::filesystem::path> from_folder;
  // Receives progress messages of one line; may be empty.
  std::function<void(std::string_view)> progress;
  // Where the files go. Empty: cache_folder() / set.name.
  std::filesystem::path target;
};

// Puts the files into the target folder and returns that folder. Does nothing if they exist with the right
// digests. Sources are tried in the order folder, or else those of the set; every file's digest is checked
// before any is put in place, and a failure leaves nothing behind. kBadData if the named folder does not hold
// the files, kNetwork if no source answers with them.
Result<std::filesystem::path> fetch(const PublicSet& set, const FetchOptions& options = {});

}  // namespace mfl
