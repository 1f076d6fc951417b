#include "tests/base/json_value.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <ostream>
#include <stdexcept>

namespace mfl::test {

JsonValue::JsonValue(const Json& value) {
  if (value.is_array()) {
    kind_ = Kind::kArray;
    elements_.assign(value.elements().begin(), value.elements().end());
  } else if (value.is_object()) {
    kind_ = Kind::kObject;
    for (const auto& [key, member] : value.members()) {
      keys_.push_back(key);
      elements_.emplace_back(member);
    }
  } else {
    scalar_ = value;
  }
}

JsonValue JsonValue::parse(std::string_view text) {
  const auto parsed = Json::parse(text);
  EXPECT_TRUE(parsed) << "not JSON: " << text;
  return parsed ? JsonValue(*parsed) : JsonValue();
}

bool JsonValue::is_null() const { return kind_ == Kind::kScalar && scalar_.is_null(); }

bool JsonValue::is_number() const {
  const std::string text = plain();
  return !text.empty() && (text[0] == '-' || std::isdigit(static_cast<unsigned char>(text[0])) != 0);
}

std::string JsonValue::text() const {
  if (!is_string()) throw std::runtime_error("not a string: " + dump());
  return std::string(scalar_.text());
}

double JsonValue::number() const {
  if (!is_number()) throw std::runtime_error("not a number: " + dump());
  return is_double() ? scalar_.number() : std::stod(plain());
}

std::uint64_t JsonValue::count() const {
  if (!is_integer() || plain()[0] == '-') throw std::runtime_error("not a count: " + dump());
  return std::stoull(plain());
}

const JsonValue* JsonValue::find(std::string_view key) const {
  const auto found = std::ranges::find(keys_, key);
  return found == keys_.end() ? nullptr : &elements_[static_cast<std::size_t>(found - keys_.begin())];
}

const JsonValue& JsonValue::operator[](std::string_view key) const& {
  static const JsonValue kMissing;
  const JsonValue* member = find(key);
  return member == nullptr ? kMissing : *member;
}

Json JsonValue::json() const {
  if (kind_ == Kind::kScalar) return scalar_;
  Json out = kind_ == Kind::kArray ? Json::array() : Json::object();
  for (std::size_t i = 0; i < elements_.size(); ++i) {
    if (kind_ == Kind::kArray)
      out.push_back(elements_[i].json());
    else
      out[keys_[i]] = elements_[i].json();
  }
  return out;
}

bool operator==(const JsonValue& a, const JsonValue& b) {
  using Kind = JsonValue::Kind;
  if (a.kind_ != b.kind_ || a.size() != b.size()) return false;
  if (a.kind_ == Kind::kArray) return a.elements_ == b.elements_;
  if (a.kind_ == Kind::kObject)
    return std::ranges::all_of(a.keys_,
                               [&](const std::string& key) { return b.contains(key) && a[key] == b[key]; });
  if (a.is_number() && b.is_number() && a.is_double() != b.is_double()) return a.number() == b.number();
  return a.scalar_.dump() == b.scalar_.dump();
}

std::ostream& operator<<(std::ostream& out, const JsonValue& value) { return out << value.dump(); }

}  // namespace mfl::test
