// Errors as values. Every function that can fail because of the outside world (input, files,
// network, a diverging run) returns Result; assertions are for programmer errors only.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace mfl {

// The kind of failure. The value is the exit code of the process.
enum class ErrorCode : int {
  kRunFailed = 1,  // the run itself: diverged, interrupted, store not writable
  kBadConfig = 2,  // arguments, experiment files
  kBadData = 3,    // contents of data files
  kNetwork = 4,    // peer or download
  kInternal = 5,   // a bug in mfl
};

// The name used in JSON: "run_failed", "bad_config", ...
std::string_view error_code_name(ErrorCode code);

struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;                 // what and where, no trailing period
  std::string hint;                    // what to do; may be empty
  std::shared_ptr<const Error> cause;  // the error that caused this one; may be null

  // "message: cause: cause of the cause", without the hint.
  std::string text() const;
  // The first non-empty hint from the outside in.
  std::string_view first_hint() const;
};

template <class T = void>
using Result = tl::expected<T, Error>;

tl::unexpected<Error> fail(ErrorCode code, std::string message, std::string hint = {});

// Wraps `cause` in a message that says what was being attempted. Code and hint are those of the cause.
tl::unexpected<Error> fail_because(Error cause, std::string message);

}  // namespace mfl

// MFL_TRY(auto rows, read_rows(path));   declares rows, or returns the error.
#define MFL_TRY(declaration, expression) \
  MFL_TRY_IMPL_(MFL_CONCAT_(mfl_try_, __LINE__), declaration, expression)
// MFL_CHECK(write(path));   returns the error, if any.
#define MFL_CHECK(expression)                                                \
  do {                                                                       \
    if (auto mfl_checked = (expression); !mfl_checked)                       \
      return ::tl::unexpected<::mfl::Error>(std::move(mfl_checked).error()); \
  } while (false)

#define MFL_CONCAT_(a, b) MFL_CONCAT_2_(a, b)
#define MFL_CONCAT_2_(a, b) a##b
#define MFL_TRY_IMPL_(name, declaration, expression)                         \
  auto name = (expression);                                                  \
  if (!name) return ::tl::unexpected<::mfl::Error>(std::move(name).error()); \
  declaration = *std::move(name)
