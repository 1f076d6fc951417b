#include "mfl/data/schema_words.h"

#include <fmt/format.h>

#include <vector>

namespace mfl {
namespace {

std::string listed_with(std::span<const std::string> names, std::string (*write)(std::string_view)) {
  constexpr std::size_t kAll = 5, kFirst = 3;
  const bool cut = names.size() > kAll;
  std::vector<std::string> out;
  for (const std::string& name : cut ? names.first(kFirst) : names) out.push_back(write(name));
  return fmt::format("{}{}", fmt::join(out, ", "), cut ? fmt::format(", ... ({})", names.size()) : "");
}

}  // namespace

std::string shown(std::string_view text) {
  constexpr std::size_t kLongest = 40;
  const bool cut = text.size() > kLongest;
  if (cut) {
    std::size_t end = kLongest;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
    text = text.substr(0, end);
  }
  std::string out;
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    out += code < 0x20U || code == 0x7FU ? '?' : c;
  }
  return cut ? out + "..." : out;
}

std::string in_quotes(std::string_view text) { return fmt::format("\"{}\"", shown(text)); }

std::string listed(std::span<const std::string> names) { return listed_with(names, shown); }

std::string listed_in_quotes(std::span<const std::string> names) { return listed_with(names, in_quotes); }

tl::unexpected<Error> one_class(std::span<const std::string> classes) {
  return fail(ErrorCode::kBadData,
              classes.empty()
                  ? "the data has no class: a classifier needs samples of two or more"
                  : fmt::format("the data has one class, {}: a classifier needs samples of two or more",
                                in_quotes(classes.front())),
              "add samples of other classes, or name all classes in [schema] classes");
}

}  // namespace mfl
