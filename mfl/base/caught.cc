#include "mfl/base/caught.h"

#include <exception>
#include <new>
#include <string>
#include <system_error>

namespace mfl {
namespace {

Error out_of_memory() {
  return {ErrorCode::kRunFailed, "out of memory", "use fewer samples or a larger machine", nullptr};
}

Error no_more_threads() {
  return {ErrorCode::kRunFailed, "the system refuses to start another thread",
          "raise the limit on processes (ulimit -u, or the container's pids limit)", nullptr};
}

Error bug(const char* what) {
  return {ErrorCode::kInternal, std::string("internal error: ") + what,
          "this is a bug: please report it with the call that led to it", nullptr};
}

}  // namespace

Error caught_error() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  } catch (const std::system_error& error) {
    return error.code() == std::errc::resource_unavailable_try_again ? no_more_threads() : bug(error.what());
  } catch (const std::exception& error) {
    return bug(error.what());
  } catch (...) {
    return bug("unknown exception");
  }
}

}  // namespace mfl
