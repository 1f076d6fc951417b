#include "mfl/data/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "mfl/base/json.h"
#include "mfl/data/text.h"

namespace mfl {
namespace {

constexpr std::size_t kLength = sizeof(std::uint64_t);
constexpr std::size_t kMostIndex = std::size_t{16} << 20U;

tl::unexpected<Error> bad(std::string_view what) {
  return fail(ErrorCode::kBadData, fmt::format("not safetensors: {}", what));
}

std::optional<std::size_t> bytes_of_type(std::string_view type) {
  if (type == "F64" || type == "I64" || type == "U64") return 8;
  if (type == "F32" || type == "I32" || type == "U32") return 4;
  if (type == "F16" || type == "BF16" || type == "I16" || type == "U16") return 2;
  if (type == "I8" || type == "U8" || type == "BOOL" || type == "F8_E4M3" || type == "F8_E5M2") return 1;
  return std::nullopt;
}

Result<std::vector<std::size_t>> read_counts(const Json* list, std::string_view name) {
  if (list == nullptr || !list->is_array()) return bad(fmt::format("the entry of {}", excerpt(name)));
  std::vector<std::size_t> out;
  for (const Json& element : list->elements()) {
    const auto count = parse_count(element.dump());
    if (!count) return bad(fmt::format("a number of the entry of {}", excerpt(name)));
    out.push_back(*count);
  }
  return out;
}

Result<StoredTensor> read_entry(const std::string& name, const Json& entry, std::string_view numbers) {
  const Json* const type = entry.find("dtype");
  const auto width = bytes_of_type(type == nullptr ? "" : type->text());
  if (!width) return bad(fmt::format("the type of {}", excerpt(name)));
  StoredTensor out{name, std::string(type->text()), {}};
  MFL_TRY(out.shape, read_counts(entry.find("shape"), name));
  MFL_TRY(const auto range, read_counts(entry.find("data_offsets"), name));
  if (range.size() != 2 || range[0] > range[1] || range[1] > numbers.size())
    return bad(fmt::format("the place of {}", excerpt(name)));
  const bool is_empty = std::ranges::count(out.shape, 0) > 0;
  std::size_t expected = is_empty ? 0 : *width;
  for (const std::size_t side : out.shape) {
    if (side != 0 && expected > numbers.size() / side)
      return bad(fmt::format("the shape of {}", excerpt(name)));
    expected *= side;
  }
  if (range[1] - range[0] != expected)
    return bad(
        fmt::format("{} has {} bytes, and its shape {}", excerpt(name), range[1] - range[0], expected));
  out.bytes = numbers.substr(range[0], expected);
  return out;
}

}  // namespace

std::string safetensors_head(std::span<const StoredTensor> tensors, std::size_t bytes_per_number,
                             std::string_view about) {
  Json index = Json::object();
  if (!about.empty()) index["__metadata__"] = {{"mfl", about}};
  std::size_t at = 0;
  for (const StoredTensor& tensor : tensors) {
    std::size_t bytes = bytes_per_number;
    for (const std::size_t side : tensor.shape) bytes *= side;
    Json offsets = Json::array();
    offsets.push_back(at);
    offsets.push_back(at + bytes);
    index[tensor.name] = {
        {"dtype", tensor.type}, {"shape", Json::list(tensor.shape)}, {"data_offsets", std::move(offsets)}};
    at += bytes;
  }
  std::string text = index.dump();
  text.append((kLength - text.size() % kLength) % kLength, ' ');
  const std::uint64_t length = text.size();
  std::string out(kLength, '\0');
  std::memcpy(out.data(), &length, kLength);
  return out + text;
}

Result<std::vector<StoredTensor>> parse_safetensors(std::string_view bytes) {
  std::uint64_t length = 0;
  if (bytes.size() < kLength) return bad("too short");
  std::memcpy(&length, bytes.data(), kLength);
  if (length > kMostIndex || length > bytes.size() - kLength)
    return bad(fmt::format("an index of {} bytes", length));
  const auto index = Json::parse(bytes.substr(kLength, length));
  if (!index || !index->is_object()) return bad("the index is not a JSON object");
  const std::string_view numbers = bytes.substr(kLength + length);
  std::vector<StoredTensor> out;
  for (const auto& [name, entry] : index->members()) {
    if (name == "__metadata__") continue;
    MFL_TRY(StoredTensor tensor, read_entry(name, entry, numbers));
    out.push_back(std::move(tensor));
  }
  std::vector<const StoredTensor*> order;
  for (const StoredTensor& tensor : out) order.push_back(&tensor);
  std::ranges::sort(order, {}, [](const StoredTensor* tensor) {
    return std::pair(tensor->bytes.data(), tensor->bytes.size());
  });
  const char* next = numbers.data();
  for (const StoredTensor* tensor : order) {
    if (tensor->bytes.data() != next)
      return bad(fmt::format("{} overlaps another tensor, or follows a gap", excerpt(tensor->name)));
    next += tensor->bytes.size();
  }
  if (next != numbers.data() + numbers.size()) return bad("bytes after the last tensor");
  return out;
}

}  // namespace mfl
