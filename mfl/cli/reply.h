// What a subcommand returns, and how it is printed.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "mfl/base/json.h"
#include "mfl/base/result.h"

namespace mfl::cli {

struct Reply {
  Json data = Json::object();    // for programs
  std::string text;              // for people; whole lines
  std::optional<Error> failure;  // the work failed after producing data and text; printed with them
};

// One line, numbers with 17 significant digits, numbers that are not finite as null.
std::string dump(const Json& json);

// Absent is null.
template <class T>
Json optional_json(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

// Prints one object on stdout (json), or the text on stdout and one line on stderr for an error.
// Returns the exit code of the process.
int print_text(const std::string& text);
int print_reply(const Reply& reply, bool json);
int print_error(const Error& error, bool json);

}  // namespace mfl::cli
