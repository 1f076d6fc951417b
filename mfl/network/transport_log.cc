#include "mfl/network/transport_log.h"

#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>

#include <mutex>
#include <string>
#include <utility>

namespace mfl {
namespace {

std::mutex mutex;
Log current;

void take(gpr_log_func_args* line) {
  if (line->severity != GPR_LOG_SEVERITY_ERROR) return;
  const std::lock_guard lock(mutex);
  if (current) current({LogLine::Level::kWarning, "transport", {{"text", line->message}}});
}

}  // namespace

void set_transport_log(Log log) {
  {
    const std::lock_guard lock(mutex);
    current = std::move(log);
  }
  gpr_set_log_function(take);
  google::protobuf::SetLogHandler(nullptr);
}

}  // namespace mfl
