#include "mfl/base/json.h"

#include <fmt/core.h>

#include <algorithm>
#include <cassert>
#include <nlohmann/json.hpp>

namespace mfl {
namespace {

using Library = nlohmann::ordered_json;

bool is_member(const Json& element) {
  return element.elements().size() == 2 && element.elements().front().is_string();
}

}  // namespace

// What the library makes of a value. The object is filled as the vector that it is: its own insertion looks
// for the key first.
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

// What the library's parser, which does not recurse, calls. Every member function but parse_error() tells it
// whether to continue.
struct JsonBuilder {
  bool null() { return add(nullptr); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(std::int64_t value) { return add(value); }
  bool number_unsigned(std::uint64_t value) { return add(value); }
  bool number_float(double value, const std::string& /*text*/) { return add(value); }
  bool string(std::string& value) { return add(std::move(value)); }
  bool binary(const Library::binary_t& /*value*/) { return false; }
  bool start_object(std::size_t /*size*/) { return open(Json::object()); }
  bool start_array(std::size_t /*size*/) { return open(Json::array()); }
  bool end_array() { return close(); }
  bool parse_error(std::size_t /*at*/, const std::string& /*near*/, const std::exception& /*why*/) {
    return false;
  }

  bool key(std::string& name) {
    std::get<Json::Object>(open_.back().value_).emplace_back(std::move(name), nullptr);
    return true;
  }

  bool end_object() {
    std::vector<std::string_view> names;
    names.reserve(open_.back().members().size());
    for (const auto& [name, member] : open_.back().members()) names.emplace_back(name);
    std::ranges::sort(names);
    if (std::ranges::adjacent_find(names) != names.end()) return stop("names a member twice");
    return close();
  }

  bool open(Json container) {
    if (open_.size() == Json::kMostLevels)
      return stop(fmt::format("is nested deeper than {} levels", Json::kMostLevels));
    open_.push_back(std::move(container));
    return true;
  }

  bool close() {
    Json done = std::move(open_.back());
    open_.pop_back();
    return add(std::move(done));
  }

  bool add(Json value) {
    if (++values_ > Json::kMostValues) return stop(fmt::format("has more than {} values", Json::kMostValues));
    if (open_.empty())
      root_ = std::move(value);
    else if (auto* elements = std::get_if<Json::Array>(&open_.back().value_))
      elements->push_back(std::move(value));
    else
      std::get<Json::Object>(open_.back().value_).back().second = std::move(value);
    return true;
  }

  bool stop(std::string why) {
    why_ = std::move(why);
    return false;
  }

  std::vector<Json> open_;  // what the parser is in, the outermost first
  std::size_t values_ = 0;
  Json root_;
  std::string why_ = "is not JSON";
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
  if (text.size() > kMostBytes)
    return fail(ErrorCode::kBadData, fmt::format("has {} bytes, more than {}", text.size(), kMostBytes));
  JsonBuilder builder;
  if (!Library::sax_parse(text, &builder)) return fail(ErrorCode::kBadData, std::move(builder.why_));
  return std::move(builder.root_);
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
