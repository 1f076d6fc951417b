#include <algorithm>
#include <string>

#include "mfl/base/json.h"
#include "tests/fuzz/fuzz.h"

namespace mfl {
namespace {

// Levels of arrays and objects.
std::size_t depth(const Json& value) {
  std::size_t inner = 0;
  for (const Json& element : value.elements()) inner = std::max(inner, depth(element));
  for (const auto& [name, member] : value.members()) {
    fuzz::require(value.find(name) == &member, "a name occurs once");
    inner = std::max(inner, depth(member));
  }
  return value.is_array() || value.is_object() ? inner + 1 : 0;
}

}  // namespace
}  // namespace mfl

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mfl;
  const auto value = Json::parse(fuzz::view(data, size));
  if (!value) {
    fuzz::require(value.error().code == ErrorCode::kBadData && !value.error().message.empty(),
                  "an error says what is wrong");
    return 0;
  }
  fuzz::require(depth(*value) <= Json::kMostLevels, "values are nested only so deep");
  const std::string text = value->dump();
  const auto again = Json::parse(text);
  fuzz::require(again.has_value() && again->dump() == text, "what is written is read");
  fuzz::require(value->sorted().dump().size() == text.size(), "sorting changes the order only");
  fuzz::require(Json::parse(value->dump(2)).has_value(), "indented text is read");
  return 0;
}
