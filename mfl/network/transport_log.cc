#include "mfl/network/transport_log.h"

#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>

#include <chrono>
#include <mutex>
#include <string>
#include <utility>

#include "mfl/network/log_limit.h"

namespace mfl {
namespace {

std::mutex mutex;
Log current;
LogLimit limit;

void take(gpr_log_func_args* line) {
  if (line->severity != GPR_LOG_SEVERITY_ERROR) return;
  const std::lock_guard lock(mutex);
  if (!current) return;
  const auto now =
      std::chrono::duration_cast<LogLimit::Time>(std::chrono::steady_clock::now().time_since_epoch());
  const auto left_out = limit.pass(std::string(line->file) + ':' + std::to_string(line->line), now);
  if (!left_out) return;
  LogLine out{LogLine::Level::kWarning, "transport", {{"text", line->message}}};
  if (*left_out > 0) out.fields.emplace_back("left_out", std::to_string(*left_out));
  current(out);
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
