#include "tests/fuzz/idx_files.h"

#include "mfl/data/idx.h"

namespace mfl::fuzz {
namespace {

const std::filesystem::path kImages = "images";
const std::filesystem::path kLabels = "labels";

std::string big_endian(std::size_t value) {
  std::string bytes;
  for (unsigned shift = 32; shift > 0; shift -= 8) bytes += static_cast<char>(value >> (shift - 8) & 255U);
  return bytes;
}

}  // namespace

Result<Dataset> parse_pair(std::string_view images, std::string_view labels) {
  return parse_idx({images, kImages}, {labels, kLabels});
}

std::string written_images(const Dataset& data) {
  const auto& values = std::get<DenseRows<std::uint8_t>>(data.features).values;
  std::string bytes = big_endian(0x0802) + big_endian(data.rows) + big_endian(data.columns);
  return bytes.append(values.begin(), values.end());
}

std::string written_labels(const Dataset& data) {
  std::string bytes = big_endian(0x0801) + big_endian(data.rows);
  for (const double label : data.labels) bytes += static_cast<char>(static_cast<std::uint8_t>(label));
  return bytes;
}

}  // namespace mfl::fuzz
