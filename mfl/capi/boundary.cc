#include "mfl/capi/boundary.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "mfl/base/nearest.h"
#include "mfl/base/version.h"
#include "mfl/capi/mfl.h"
#include "mfl/data/text.h"

namespace mfl::capi {

char* c_text(std::string_view text) {
  auto* out = static_cast<char*>(std::malloc(text.size() + 1));
  if (out == nullptr) return nullptr;
  std::memcpy(out, text.data(), text.size());
  out[text.size()] = '\0';
  return out;
}

std::int32_t report(const Error& error, char** out) noexcept {
  const auto code = static_cast<std::int32_t>(error.code);
  if (out == nullptr) return code;
  try {
    *out = c_text(error_json(error).dump());
  } catch (...) {
    *out = c_text(R"({"code":"run_failed","message":"out of memory","hint":""})");
  }
  return code;
}

Result<void> require(const void* argument, std::string_view what) {
  if (argument != nullptr) return {};
  return fail(ErrorCode::kBadConfig, fmt::format("{} is NULL", what), "see mfl.h");
}

Result<void> give(const std::string& text, char** out) {
  *out = c_text(text);
  if (*out == nullptr) throw std::bad_alloc();
  return {};
}

std::string_view text_or_empty(const char* text) { return text == nullptr ? std::string_view() : text; }

Result<Request> Request::parse(const char* json, std::string_view what,
                               std::initializer_list<std::string_view> known) {
  const std::string_view text = text_or_empty(json);
  if (text.empty()) return Request(Json::object(), what);
  const auto parsed = Json::parse(text);
  if (!parsed || !parsed->is_object())
    return fail(ErrorCode::kBadConfig, fmt::format("{}: not a JSON object: {}", what, excerpt(text)),
                "see mfl.h");
  for (const auto& [name, value] : parsed->members())
    if (known.size() != 0 && std::ranges::find(known, name) == known.end())
      return fail(ErrorCode::kBadConfig,
                  fmt::format("{}: unknown member {}{}", what, excerpt(name),
                              did_you_mean(name, std::span(known.begin(), known.size()))),
                  "see mfl.h");
  return Request(*parsed, what);
}

tl::unexpected<Error> Request::wrong(std::string_view name, std::string_view expected) const {
  return fail(ErrorCode::kBadConfig, fmt::format("{}: {} must be {}", what_, name, expected), "see mfl.h");
}

Result<std::string> Request::text(std::string_view name) const {
  const Json* found = find(name);
  if (found == nullptr) return std::string();
  if (!found->is_string()) return wrong(name, "a text");
  return std::string(found->text());
}

Result<bool> Request::flag(std::string_view name) const {
  const Json* found = find(name);
  if (found == nullptr) return false;
  const std::string text = found->dump();
  if (text != "true" && text != "false") return wrong(name, "true or false");
  return text == "true";
}

Result<std::optional<double>> Request::number(std::string_view name) const {
  const Json* found = find(name);
  if (found == nullptr) return std::nullopt;
  const auto number = parse_number(found->dump());
  if (!number) return wrong(name, "a number");
  return number;
}

Result<std::optional<std::uint64_t>> Request::count(std::string_view name) const {
  const Json* found = find(name);
  if (found == nullptr) return std::nullopt;
  const auto count = parse_count(found->dump());
  if (!count) return wrong(name, "a whole number");
  return count;
}

Result<std::vector<std::string>> Request::texts(std::string_view name) const {
  const Json* found = find(name);
  std::vector<std::string> out;
  if (found == nullptr) return out;
  if (!found->is_array()) return wrong(name, "an array of texts");
  for (const Json& element : found->elements()) {
    if (!element.is_string()) return wrong(name, "an array of texts");
    out.emplace_back(element.text());
  }
  return out;
}

}  // namespace mfl::capi

extern "C" {

int32_t mfl_abi_version(void) { return MFL_ABI_VERSION; }

const char* mfl_version(void) {
  static const std::string text(mfl::version());
  return text.c_str();
}

void mfl_free(char* text) { std::free(text); }

}  // extern "C"
