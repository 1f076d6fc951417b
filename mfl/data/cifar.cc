#include "mfl/data/cifar.h"

#include <fmt/core.h>

#include <cstdint>
#include <string>

#include "mfl/data/text.h"

namespace mfl {
namespace {

constexpr std::size_t kRecord = kCifarColumns + 1;
constexpr const char* kFetchCifarAgain = "get the file again: mfl data fetch cifar10";

Result<void> append_pictures(const std::filesystem::path& path, Dataset& data,
                             std::vector<std::uint8_t>& pixels) {
  MFL_TRY(const std::string bytes, read_data_file(path));
  if (bytes.empty() || bytes.size() % kRecord != 0)
    return bad_file(path, fmt::format("{} bytes are not whole records of {}", bytes.size(), kRecord),
                    kFetchCifarAgain);
  pixels.reserve(pixels.size() + bytes.size());
  for (std::size_t at = 0; at < bytes.size(); at += kRecord) {
    const auto label = static_cast<unsigned char>(bytes[at]);
    if (label > 9)
      return bad_file(path, fmt::format("label {} at byte {}; labels are 0 to 9", label, at),
                      kFetchCifarAgain);
    data.labels.push_back(label);
    pixels.insert(pixels.end(), bytes.begin() + static_cast<std::ptrdiff_t>(at + 1),
                  bytes.begin() + static_cast<std::ptrdiff_t>(at + kRecord));
  }
  return {};
}

}  // namespace

Result<Dataset> read_cifar(const std::vector<std::filesystem::path>& files) {
  Dataset data{.rows = 0, .columns = kCifarColumns, .scale = 1.0 / 255, .features = {}, .labels = {}};
  DenseRows<std::uint8_t> pixels;
  for (const auto& file : files) MFL_CHECK(append_pictures(file, data, pixels.values));
  data.rows = data.labels.size();
  data.features = std::move(pixels);
  data.origin = origin_at(files.front().parent_path(), digit_classes());
  return data;
}

CifarFiles cifar10_files(const std::filesystem::path& folder) {
  CifarFiles files{{}, {folder / "test_batch.bin"}};
  for (int batch = 1; batch <= 5; ++batch)
    files.train.push_back(folder / fmt::format("data_batch_{}.bin", batch));
  return files;
}

}  // namespace mfl
