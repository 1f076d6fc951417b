// JSON as tests read it: a tree that is indexed, compared and converted like the values that it holds. The
// library that parses stays in one source of mfl, so that a test that reads a reply does not compile it.
#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mfl/base/json.h"

namespace mfl::test {

//   const JsonValue reply = JsonValue::parse(text);
//   EXPECT_EQ(reply["runs"][0]["status"], "done");
//   for (const JsonValue& run : reply["runs"]) ids.insert(run["run_id"]);
class JsonValue {
 public:
  JsonValue() = default;                  // null
  JsonValue(const Json& value);           // NOLINT(google-explicit-constructor)
  template <std::convertible_to<Json> X>  // what a value is compared with: 1, 0.5, "done", true
  JsonValue(X value) : JsonValue(Json(std::move(value))) {}  // NOLINT(google-explicit-constructor)

  // A test failure and null where the text is not JSON.
  static JsonValue parse(std::string_view text);

  bool is_null() const;
  bool is_string() const { return kind_ == Kind::kScalar && scalar_.is_string(); }
  bool is_number() const;
  bool is_integer() const { return is_number() && !is_double(); }
  bool is_double() const { return kind_ == Kind::kScalar && scalar_.is_double(); }
  bool is_object() const { return kind_ == Kind::kObject; }

  // These throw std::runtime_error, which fails the test, for a value of another kind.
  std::string text() const;
  operator std::string() const { return text(); }  // NOLINT(google-explicit-constructor)
  double number() const;
  std::uint64_t count() const;

  bool contains(std::string_view key) const { return find(key) != nullptr; }
  // null where there is no such member. Of a temporary a copy, which outlives it.
  const JsonValue& operator[](std::string_view key) const&;
  JsonValue operator[](std::string_view key) && { return std::as_const(*this)[key]; }
  // Throws std::out_of_range where there are fewer elements.
  const JsonValue& operator[](std::size_t place) const& { return elements_.at(place); }
  JsonValue operator[](std::size_t place) && { return elements_.at(place); }

  // Of an array its elements, of an object the values of its members.
  std::size_t size() const { return elements_.size(); }
  bool empty() const { return elements_.empty(); }
  using value_type = JsonValue;
  using const_iterator = std::vector<JsonValue>::const_iterator;
  const_iterator begin() const { return elements_.begin(); }
  const_iterator end() const { return elements_.end(); }
  const JsonValue& front() const { return elements_.front(); }
  const JsonValue& back() const { return elements_.back(); }

  Json json() const;
  std::string dump(int indent = -1) const { return json().dump(indent); }

  // Numbers are equal by value, objects whatever the order of their members.
  friend bool operator==(const JsonValue& a, const JsonValue& b);
  // Of numbers.
  friend std::partial_ordering operator<=>(const JsonValue& a, const JsonValue& b) {
    return a.number() <=> b.number();
  }
  friend std::ostream& operator<<(std::ostream& out, const JsonValue& value);

 private:
  enum class Kind { kScalar, kArray, kObject };

  const JsonValue* find(std::string_view key) const;
  // The text of a number, a boolean or null.
  std::string plain() const { return kind_ == Kind::kScalar && !is_string() ? scalar_.dump() : ""; }

  Kind kind_ = Kind::kScalar;
  Json scalar_;
  std::vector<std::string> keys_;  // of an object, one per element
  std::vector<JsonValue> elements_;
};

}  // namespace mfl::test
