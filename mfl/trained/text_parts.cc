#include "mfl/trained/text_parts.h"

#include <algorithm>
#include <span>

#include "mfl/data/text.h"

namespace mfl {
namespace {

constexpr std::size_t kPart = std::size_t{1} << 20U;

}  // namespace

Result<TextParts> TextParts::open(const std::filesystem::path& path) {
  auto file = FileReader::open(path);
  if (!file) file.error().hint = kCheckPath;
  MFL_TRY(FileReader opened, std::move(file));
  return TextParts(std::move(opened));
}

Result<bool> TextParts::read_more() {
  const std::size_t had = rest_.size();
  rest_.resize(had + kPart);
  MFL_TRY(const std::size_t found,
          file_.read(offset_, std::as_writable_bytes(std::span(rest_)).subspan(had)));
  rest_.resize(had + found);
  offset_ += found;
  return found > 0;
}

TextParts::Part TextParts::cut(std::size_t bytes) {
  Part part{.text = rest_.substr(0, bytes), .first_line = line_};
  rest_.erase(0, bytes);
  line_ += static_cast<std::size_t>(std::ranges::count(part.text, '\n'));
  return part;
}

Result<std::optional<TextParts::Part>> TextParts::next() {
  for (;;) {
    const std::size_t end = rest_.size() < kPart ? std::string::npos : rest_.rfind('\n');
    if (end != std::string::npos) return cut(end + 1);
    MFL_TRY(const bool more, read_more());
    if (more) continue;
    if (rest_.empty()) return std::nullopt;
    return cut(rest_.size());
  }
}

}  // namespace mfl
