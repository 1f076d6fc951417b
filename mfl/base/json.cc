#include "mfl/base/json.h"

#include <algorithm>
#include <cassert>
#include <nlohmann/json.hpp>

namespace mfl {
namespace {

using Library = nlohmann::ordered_json;

Json from_library(const Library& value) {
  switch (value.type()) {
    case Library::value_t::boolean: return value.get<bool>();
    case Library::value_t::number_integer: return value.get<std::int64_t>();
    case Library::value_t::number_unsigned: return value.get<std::uint64_t>();
    case Library::value_t::number_float: return value.get<double>();
    case Library::value_t::string: return value.get<std::string>();
    case Library::value_t::array: {
      Json out = Json::array();
      for (const Library& element : value) out.push_back(from_library(element));
      return out;
    }
    case Library::value_t::object: {
      Json out = Json::object();
      for (const auto& [key, member] : value.items()) out[key] = from_library(member);
      return out;
    }
    default: return nullptr;
  }
}

bool is_member(const Json& element) {
  return element.elements().size() == 2 && element.elements().front().is_string();
}

}  // namespace

// What the library makes of a value. The object is filled as the vector that it is: its own insertion looks for the
// key first.
struct JsonText {
  Library operator()(std::monostate) const { return nullptr; }
  Library operator()(const Json::Array& elements) const {
    Library::array_t out;
    out.reserve(elements.size());
    for (const Json& element : elements) out.push_back(std::visit(*this, element.value_));
    return out;
  }
  Library operator()(const Json::Object& members) const {
    Library::object_t out;
    for (const auto& [key, member] : members) out.emplace_back(key, std::visit(*this, member.value_));
    return out;
  }
  Library operator()(const auto& plain) const { return plain; }
};

Json::Json(bool value) : value_(value) {}
Json::Json(int value) : value_(std::int64_t{value}) {}
Json::Json(unsigned value) : value_(std::uint64_t{value}) {}
Json::Json(long value) : value_(std::int64_t{value}) {}
Json::Json(long long value) : value_(static_cast<std::int64_t>(value)) {}
Json::Json(unsigned long value) : value_(std::uint64_t{value}) {}
Json::Json(unsigned long long value) : value_(static_cast<std::uint64_t>(value)) {}
Json::Json(double value) : value_(value) {}
Json::Json(const char* text) : value_(std::string(text)) {}
Json::Json(std::string_view text) : value_(std::string(text)) {}
Json::Json(std::string text) : value_(std::move(text)) {}
Json::Json(const std::vector<std::string>& texts) : value_(Array(texts.begin(), texts.end())) {}
Json::Json(const std::vector<double>& numbers) : value_(Array(numbers.begin(), numbers.end())) {}
Json::Json(const std::optional<double>& number) {
  if (number) value_ = *number;
}
Json::Json(const std::optional<std::uint64_t>& number) {
  if (number) value_ = *number;
}
Json::Json(const std::optional<std::string>& text) {
  if (text) value_ = *text;
}

Json::Json(std::initializer_list<Json> elements) {
  if (!std::ranges::all_of(elements, is_member)) {
    value_ = Array(elements);
    return;
  }
  Object members;
  for (const Json& element : elements)
    members.emplace_back(std::string(element.elements()[0].text()), element.elements()[1]);
  value_ = std::move(members);
}

Json Json::array() {
  Json out;
  out.value_ = Array{};
  return out;
}

Json Json::object() {
  Json out;
  out.value_ = Object{};
  return out;
}

Result<Json> Json::parse(std::string_view text) {
  const Library value = Library::parse(text, nullptr, false);
  if (value.is_discarded()) return fail(ErrorCode::kBadData, "is not JSON");
  return from_library(value);
}

bool Json::is_null() const { return std::holds_alternative<std::monostate>(value_); }
bool Json::is_string() const { return std::holds_alternative<std::string>(value_); }
bool Json::is_double() const { return std::holds_alternative<double>(value_); }
bool Json::is_array() const { return std::holds_alternative<Array>(value_); }
bool Json::is_object() const { return std::holds_alternative<Object>(value_); }

std::string_view Json::text() const {
  const auto* text = std::get_if<std::string>(&value_);
  return text == nullptr ? std::string_view{} : *text;
}

double Json::number() const {
  const auto* number = std::get_if<double>(&value_);
  return number == nullptr ? 0 : *number;
}

const Json::Array& Json::elements() const {
  static const Array kNone;
  const auto* elements = std::get_if<Array>(&value_);
  return elements == nullptr ? kNone : *elements;
}

const Json::Object& Json::members() const {
  static const Object kNone;
  const auto* members = std::get_if<Object>(&value_);
  return members == nullptr ? kNone : *members;
}

const Json* Json::find(std::string_view key) const {
  const Object& all = members();
  const auto found = std::ranges::find(all, key, &Member::first);
  return found == all.end() ? nullptr : &found->second;
}

Json& Json::operator[](std::string_view key) {
  if (is_null()) value_ = Object{};
  assert(is_object());
  auto& all = std::get<Object>(value_);
  const auto found = std::ranges::find(all, key, &Member::first);
  if (found != all.end()) return found->second;
  return all.emplace_back(std::string(key), Json()).second;
}

void Json::push_back(Json value) {
  if (is_null()) value_ = Array{};
  assert(is_array());
  std::get<Array>(value_).push_back(std::move(value));
}

void Json::erase(std::string_view key) {
  if (auto* members = std::get_if<Object>(&value_))
    std::erase_if(*members, [key](const Member& member) { return member.first == key; });
}

void Json::update(const Json& other) {
  for (const auto& [key, member] : other.members()) (*this)[key] = member;
}

Json Json::sorted() const {
  Json out = *this;
  if (auto* elements = std::get_if<Array>(&out.value_))
    for (Json& element : *elements) element = element.sorted();
  if (auto* members = std::get_if<Object>(&out.value_)) {
    for (auto& [key, member] : *members) member = member.sorted();
    std::ranges::stable_sort(*members, {}, &Member::first);
  }
  return out;
}

std::string Json::dump(int indent) const {
  return std::visit(JsonText{}, value_).dump(indent, ' ', false, Library::error_handler_t::replace);
}

Json error_json(const Error& error) {
  return {{"code", error_code_name(error.code)}, {"message", error.text()}, {"hint", error.first_hint()}};
}

}  // namespace mfl
