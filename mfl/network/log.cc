#include "mfl/network/log.h"

#include <memory>
#include <mutex>

#include "mfl/base/visible.h"

namespace mfl {

LogLine bounded(const LogLine& line) {
  constexpr std::size_t kMostValue = 512, kMostLine = 3072;
  LogLine out{line.level, line.event, {}};
  std::size_t used = 0, left_out = 0;
  for (const auto& [key, value] : line.fields) {
    std::string text = visible(value, kMostValue);
    if (used + text.size() > kMostLine) {
      ++left_out;
      continue;
    }
    used += text.size();
    out.fields.emplace_back(key, std::move(text));
  }
  if (left_out > 0) out.fields.emplace_back("fields_left_out", std::to_string(left_out));
  return out;
}

Log serialised(Log log) {
  if (!log) return {};
  return [mutex = std::make_shared<std::mutex>(), log = std::move(log)](const LogLine& line) {
    const std::lock_guard lock(*mutex);
    log(line);
  };
}

}  // namespace mfl
