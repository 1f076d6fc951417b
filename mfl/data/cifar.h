// The binary form of CIFAR-10: files of records, each of which is a label (one byte, 0 to 9) and 32 x 32
// pixels, first all reds, then all greens, then all blues.
#pragma once

#include <cstddef>
#include <filesystem>
#include <vector>

#include "mfl/base/result.h"
#include "mfl/data/dataset.h"

namespace mfl {

inline constexpr std::size_t kCifarColumns = 3072;

// The records of the files, one file after the other: bytes, scale 1/255, classes 0 to 9. A file that is
// empty or not made of whole records, and a label above 9, are kBadData.
Result<Dataset> read_cifar(const std::vector<std::filesystem::path>& files);

struct CifarFiles {
  std::vector<std::filesystem::path> train, test;
};
// The files of CIFAR-10 in a folder.
CifarFiles cifar10_files(const std::filesystem::path& folder);

}  // namespace mfl
