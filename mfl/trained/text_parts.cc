#include "mfl/trained/text_parts.h"

#include <algorithm>
#include <span>

#include "mfl/data/text.h"

namespace mfl {
namespace {

constexpr std::size_t kPart = std::size_t{1} << 20U;

}  // namespace

Result<TextParts> TextParts::open(const std::filesystem::path& path, bool quotes) {
  auto file = FileReader::open(path);
  if (!file) file.error().hint = kCheckPath;
  MFL_TRY(FileReader opened, std::move(file));
  return TextParts(std::move(opened), quotes);
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

std::size_t TextParts::whole_lines() const {
  if (!quotes_ || rest_.find('"') == std::string::npos) {
    const std::size_t end = rest_.rfind('\n');
    return end == std::string::npos ? 0 : end + 1;
  }
  std::size_t last = 0;
  bool inside = false;
  for (std::size_t i = 0; i < rest_.size(); ++i) {
    if (rest_[i] == '"') inside = !inside;
    if (rest_[i] == '\n' && !inside) last = i + 1;
  }
  return last;
}

std::size_t TextParts::first_line_length() const {
  bool inside = false;
  for (std::size_t i = 0; i < rest_.size(); ++i) {
    if (rest_[i] == '"' && quotes_) inside = !inside;
    if (rest_[i] == '\n' && !inside) return i + 1;
  }
  return 0;
}

RowBlocks::Part TextParts::cut(std::size_t bytes) {
  RowBlocks::Part part{.text = rest_.substr(0, bytes), .first = line_, .count = 0};
  rest_.erase(0, bytes);
  line_ += static_cast<std::size_t>(std::ranges::count(part.text, '\n'));
  return part;
}

Result<std::string> TextParts::first_line() {
  while (first_line_length() == 0) {
    MFL_TRY(const bool more, read_more());
    if (!more) break;
  }
  const std::size_t length = first_line_length();
  return cut(length == 0 ? rest_.size() : length).text;
}

Result<std::optional<RowBlocks::Part>> TextParts::next() {
  for (;;) {
    const std::size_t whole = rest_.size() < kPart ? 0 : whole_lines();
    if (whole != 0) return cut(whole);
    MFL_TRY(const bool more, read_more());
    if (more) continue;
    if (rest_.empty()) return std::nullopt;
    return cut(rest_.size());
  }
}

}  // namespace mfl
