// JSON as a value. The header has no templates, so building replies costs no compile time, and a single
// source includes the library that escapes and parses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "mfl/base/result.h"

namespace mfl {

// null, a boolean, a number, a string, an array or an object. Members of an object keep the order in which
// they were added. A value: copies are deep.
//
//   Json reply = {{"run", id}, {"losses", Json::array()}};
//   reply["losses"].push_back(0.25);
class Json {
 public:
  using Array = std::vector<Json>;
  using Member = std::pair<std::string, Json>;
  using Object = std::vector<Member>;

  Json() = default;
  // NOLINTBEGIN(google-explicit-constructor): a reply is written as one braced list
  Json(std::nullptr_t) {}
  Json(bool value);
  Json(int value);
  Json(unsigned value);
  Json(long value);
  Json(long long value);
  Json(unsigned long value);
  Json(unsigned long long value);
  Json(double value);
  Json(const char* text);
  Json(std::string_view text);
  Json(std::string text);
  Json(const std::vector<std::string>& texts);
  Json(const std::vector<double>& numbers);
  // An object where every element is a pair whose first is a string, an array otherwise.
  Json(std::initializer_list<Json> elements);
  // null where there is none.
  Json(const std::optional<double>& number);
  Json(const std::optional<std::uint64_t>& number);
  Json(const std::optional<std::string>& text);
  // NOLINTEND(google-explicit-constructor)

  static Json array();
  static Json object();
  // The elements of any range, as an array.
  template <class Range>
  static Json list(const Range& range) {
    Json out = array();
    for (const auto& element : range) out.push_back(Json(element));
    return out;
  }

  // Takes any bytes, in time proportional to their number, but for the sorting of an object's names. kBadData
  // where `text` is not one JSON value, is larger than kMostBytes, has more than kMostValues values, is
  // nested deeper than kMostLevels, or names a member of an object twice. So what walks a parsed value may
  // recurse.
  static Result<Json> parse(std::string_view text);
  static constexpr std::size_t kMostBytes = std::size_t{256} << 20U;
  // About 40 bytes each, beside their texts.
  static constexpr std::size_t kMostValues = std::size_t{1} << 24U;
  static constexpr std::size_t kMostLevels = 64;

  bool is_null() const;
  bool is_string() const;
  bool is_double() const;
  bool is_array() const;
  bool is_object() const;

  // The text of a string, "" of any other value.
  std::string_view text() const;
  // The number of a double, 0 of any other value.
  double number() const;
  // The elements or members; empty for any other value.
  const Array& elements() const;
  const Object& members() const;

  // The member, or nullptr.
  const Json* find(std::string_view key) const;
  // The member, added as null where it is missing. A null becomes an object; any other value must be one.
  Json& operator[](std::string_view key);
  // A null becomes an array; any other value must be one.
  void push_back(Json value);
  // Without the member, if it is one.
  void erase(std::string_view key);
  // Adds the members of `other`, or replaces those of the same name.
  void update(const Json& other);

  // This value with the members of every object in the order of their names.
  Json sorted() const;

  // The text. Doubles have as many digits as bring back the same bits, those that are not finite are null,
  // bytes that are not UTF-8 become U+FFFD. `indent` < 0: one line.
  std::string dump(int indent = -1) const;

 private:
  friend struct JsonText;
  friend struct JsonBuilder;

  std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string, Array, Object> value_;
};

// {"code":"bad_config","message","hint"}
Json error_json(const Error& error);

}  // namespace mfl
