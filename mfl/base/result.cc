#include "mfl/base/result.h"

namespace mfl {

std::string_view error_code_name(ErrorCode code) {
  switch (code) {
    case ErrorCode::kRunFailed: return "run_failed";
    case ErrorCode::kBadConfig: return "bad_config";
    case ErrorCode::kBadData: return "bad_data";
    case ErrorCode::kNetwork: return "network";
    case ErrorCode::kInternal: return "internal";
  }
  return "internal";
}

std::string Error::text() const {
  std::string out = message;
  for (const Error* e = cause.get(); e != nullptr; e = e->cause.get()) out += ": " + e->message;
  return out;
}

std::string_view Error::first_hint() const {
  for (const Error* e = this; e != nullptr; e = e->cause.get())
    if (!e->hint.empty()) return e->hint;
  return {};
}

tl::unexpected<Error> fail(ErrorCode code, std::string message, std::string hint) {
  return tl::unexpected<Error>(Error{code, std::move(message), std::move(hint), nullptr});
}

tl::unexpected<Error> fail_because(Error cause, std::string message) {
  const ErrorCode code = cause.code;
  return tl::unexpected<Error>(
      Error{code, std::move(message), {}, std::make_shared<const Error>(std::move(cause))});
}

}  // namespace mfl
