#include "mfl/data/npy_header.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "mfl/data/text.h"

namespace mfl {
namespace {

constexpr std::string_view kNpyMagic = "\x93NUMPY";

// The Python literal {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }: only what NumPy writes for
// plain arrays.
class Literal {
 public:
  explicit Literal(std::string_view text) : text_(text) {}

  bool dictionary(NpyHeader& header) {
    if (!eat('{')) return false;
    unsigned seen = 0;
    while (!eat('}')) {
      const auto key = quoted();
      if (!key || !eat(':')) return false;
      if (*key == "descr" && string(header.type))
        seen |= 1;
      else if (*key == "fortran_order" && boolean(header.fortran_order))
        seen |= 2;
      else if (*key == "shape" && tuple(header.shape))
        seen |= 4;
      else
        return false;
      if (!eat(',') && !peek('}')) return false;
    }
    return seen == 7 && trim(text_).empty();
  }

 private:
  bool peek(char c) {
    text_ = trim(text_);
    return text_.starts_with(c);
  }
  bool eat(char c) {
    if (!peek(c)) return false;
    text_.remove_prefix(1);
    return true;
  }
  std::optional<std::string_view> quoted() {
    const char quote = peek('"') ? '"' : '\'';
    if (!eat(quote)) return std::nullopt;
    const std::size_t end = text_.find(quote);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view inside = text_.substr(0, end);
    text_.remove_prefix(end + 1);
    return inside;
  }
  bool string(std::string& value) {
    const auto inside = quoted();
    if (inside) value = *inside;
    return inside.has_value();
  }
  bool boolean(bool& value) {
    text_ = trim(text_);
    value = text_.starts_with("True");
    if (!value && !text_.starts_with("False")) return false;
    text_.remove_prefix(value ? 4 : 5);
    return true;
  }
  bool tuple(std::vector<std::size_t>& value) {
    value.clear();
    if (!eat('(')) return false;
    while (!eat(')')) {
      text_ = trim(text_);
      const std::size_t digits = std::min(text_.find_first_not_of("0123456789"), text_.size());
      const auto extent = parse_count(text_.substr(0, digits));
      if (!extent) return false;
      value.push_back(*extent);
      text_.remove_prefix(digits);
      if (!eat(',') && !peek(')')) return false;
    }
    return true;
  }

  std::string_view text_;
};

}  // namespace

Result<NpyHeader> parse_npy_header(std::string_view file, const std::filesystem::path& path) {
  constexpr const char* kHint = "write it with numpy.save";
  if (file.empty()) return bad_file(path, "the file is empty", kHint);
  if (!file.starts_with(kNpyMagic)) return bad_file(path, "bad magic at byte 0: not an NPY file", kHint);
  const auto byte = [&](std::size_t at) { return std::size_t{static_cast<unsigned char>(file[at])}; };
  const auto truncated = [&] {
    return bad_file(path, fmt::format("truncated in the header at byte {}", file.size()), kHint);
  };
  if (file.size() < 10) return truncated();
  const std::size_t major = byte(6);
  if ((major != 1 && major != 2) || byte(7) != 0)
    return bad_file(path, fmt::format("NPY version {}.{} at byte 6, expected 1.0 or 2.0", major, byte(7)),
                    kHint);
  const std::size_t start = major == 1 ? 10 : 12;
  if (file.size() < start) return truncated();
  std::size_t length = byte(8) | byte(9) << 8;
  if (major == 2) length |= byte(10) << 16 | byte(11) << 24;
  if (file.size() - start < length) return truncated();
  NpyHeader header;
  if (!Literal(file.substr(start, length)).dictionary(header))
    return bad_file(
        path,
        fmt::format("header at byte {} is not understood: {}", start, excerpt(file.substr(start, length))),
        "plain arrays only, no structured types");
  header.length = start + length;
  return header;
}

std::string make_npy_header(std::string_view type, const std::vector<std::size_t>& shape) {
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", type,
                                 fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  constexpr std::size_t kStart = 10;
  text.append(63 - (kStart + text.size()) % 64, ' ');
  text += '\n';
  std::string header(kNpyMagic);
  header += '\x01';
  header += '\0';
  header += static_cast<char>(text.size() & 255);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

}  // namespace mfl
