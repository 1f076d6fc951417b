// The log of a server's session: what happened, as events and fields.
#pragma once

#include <chrono>
#include <set>
#include <string>
#include <string_view>

#include "mfl/federation/coordinator.h"
#include "mfl/network/log.h"
#include "mfl/network/log_limit.h"

namespace mfl {

// Of warnings with the same fields, text apart, one per second is written; of all lines with the same field "node" ten at once, then one
// per second. The next one that is written has the number of the others in the field "left_out". Not thread-safe.
class SessionLog {
 public:
  explicit SessionLog(Log log) : log_(std::move(log)) {}

  void write(LogLine::Level level, std::string event, LogFields fields);

  // A peer's call was refused.
  void refused(const std::string& node, std::string_view call, Reason reason, std::string_view text);
  // Whatever is new in the status since the last call: a round, the schema, an abandoned attempt, a warning, the end. A warning in which
  // only numbers have changed is not new.
  void progress(FederationStatus status);
  // A warning if the certificate expires soon. `node` is empty for the server's own.
  void expiry(const std::string& node, std::chrono::sys_seconds expires);

 private:
  void log_new(const std::vector<std::string>& warnings);

  Log log_;
  LogLimit warnings_;
  LogLimit peers_{10};
  bool started_ = false;  // progress() was called: the first status is where the process continues
  FederationStatus last_;
  std::set<std::string> warned_;  // of these, without digits
};

}  // namespace mfl
