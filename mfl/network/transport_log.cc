#include "mfl/network/transport_log.h"

#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>

#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "mfl/network/log_limit.h"

namespace mfl {
namespace {

// Never destroyed: threads of gRPC may still log while the process exits.
struct Registry {
  std::mutex mutex;
  std::map<std::uint64_t, Log> logs;
  std::uint64_t last_id = 0;
  LogLimit limit;
};

Registry& registry() {
  static auto& only = *new Registry;
  return only;
}

void take(gpr_log_func_args* line) {
  if (line->severity != GPR_LOG_SEVERITY_ERROR) return;
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  if (all.logs.empty() || !all.logs.rbegin()->second) return;
  const auto now =
      std::chrono::duration_cast<LogLimit::Time>(std::chrono::steady_clock::now().time_since_epoch());
  const auto left_out = all.limit.pass(std::string(line->file) + ':' + std::to_string(line->line), now);
  if (!left_out) return;
  LogLine out{LogLine::Level::kWarning, "transport", {{"text", line->message}}};
  if (*left_out > 0) out.fields.emplace_back("left_out", std::to_string(*left_out));
  all.logs.rbegin()->second(out);
}

}  // namespace

void quiet_transport() {
  gpr_set_log_function(take);
  google::protobuf::SetLogHandler(nullptr);
}

TransportLog::TransportLog(Log log) {
  quiet_transport();
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  id_ = ++all.last_id;
  all.logs.emplace(id_, std::move(log));
}

TransportLog::~TransportLog() {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  all.logs.erase(id_);
}

}  // namespace mfl
