// What a server or a node reports while it runs.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace mfl {

using LogFields = std::vector<std::pair<std::string, std::string>>;

// One event. Fields are in the order in which a reader wants them; a field with an empty value says nothing.
struct LogLine {
  enum class Level { kDebug, kInfo, kWarning, kError };
  Level level = Level::kInfo;
  std::string event;  // "round", "joined", "refused", ...
  LogFields fields;
};

// The line as it may be written: control characters and bytes that are not UTF-8 are escaped (visible.h), a
// value has at most 512 bytes and all of them together 3 KiB, each followed by how long it was where it is
// cut. Fields without room are counted in "fields_left_out". For whoever writes a log: peers choose some of
// the text.
LogLine bounded(const LogLine& line);

// Called from any thread, one call at a time, until the function that it was given to has returned or the
// object has been destroyed. It must not call back into the server or the node that it logs for.
using Log = std::function<void(const LogLine&)>;

// Unless nobody listens.
inline void say(const Log& log, LogLine::Level level, std::string event, LogFields fields) {
  if (log) log({level, std::move(event), std::move(fields)});
}

// `log` behind a mutex, so that callers on different threads keep that contract. Empty for an empty log.
Log serialised(Log log);

}  // namespace mfl
