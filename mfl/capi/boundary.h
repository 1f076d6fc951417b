// What every function of the C interface does on its way in and out: no exception leaves, errors become codes and text.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mfl/base/caught.h"
#include "mfl/base/json.h"
#include "mfl/base/result.h"

namespace mfl::capi {

// A copy that mfl_free() releases; null where there is no memory for it.
char* c_text(std::string_view text);

// Stores the error, if the caller wants it, and gives its code.
std::int32_t report(const Error& error, char** out) noexcept;

// Runs the body of a function of the interface, a callable without arguments that gives a Result<void>.
template <class Body>
std::int32_t guarded(char** error, const Body& body) noexcept {
  if (error != nullptr) *error = nullptr;
  try {
    const Result<void> done = body();
    return done ? 0 : report(done.error(), error);
  } catch (...) {
    try {
      return report(caught_error(), error);
    } catch (...) {
      return static_cast<std::int32_t>(ErrorCode::kRunFailed);
    }
  }
}

// kBadConfig for a null; `what` is its name in the header.
Result<void> require(const void* argument, std::string_view what);

// Gives the text to the caller. Out of memory is an error.
Result<void> give(const std::string& text, char** out);

// "" for null.
std::string_view text_or_empty(const char* text);

// The members of a JSON object that a caller gives, by name. Null and "" are an empty object.
class Request {
 public:
  // kBadConfig where it is not an object, or has a member that is none of `known`. `what` ("options") is for messages.
  static Result<Request> parse(const char* json, std::string_view what,
                               std::initializer_list<std::string_view> known);

  // The member, or null.
  const Json* find(std::string_view name) const { return object_.find(name); }
  const Json::Object& members() const { return object_.members(); }
  // "" or false where it is absent; kBadConfig for a value of another type.
  Result<std::string> text(std::string_view name) const;
  Result<bool> flag(std::string_view name) const;
  Result<std::optional<double>> number(std::string_view name) const;
  Result<std::optional<std::uint64_t>> count(std::string_view name) const;
  Result<std::vector<std::string>> texts(std::string_view name) const;

 private:
  Request(Json object, std::string_view what) : object_(std::move(object)), what_(what) {}
  tl::unexpected<Error> wrong(std::string_view name, std::string_view expected) const;

  Json object_;
  std::string what_;
};

}  // namespace mfl::capi
