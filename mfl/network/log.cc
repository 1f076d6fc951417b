#include "mfl/network/log.h"

#include <memory>
#include <mutex>

namespace mfl {

Log serialised(Log log) {
  if (!log) return {};
  return [mutex = std::make_shared<std::mutex>(), log = std::move(log)](const LogLine& line) {
    const std::lock_guard lock(*mutex);
    log(line);
  };
}

}  // namespace mfl
