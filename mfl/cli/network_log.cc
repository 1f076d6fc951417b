#include "mfl/cli/network_log.h"

#include <fmt/core.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>

#include "mfl/cli/reply.h"

namespace mfl::cli {
namespace {

spdlog::level::level_enum level_of(LogLine::Level level) {
  switch (level) {
    case LogLine::Level::kDebug: return spdlog::level::debug;
    case LogLine::Level::kInfo: return spdlog::level::info;
    case LogLine::Level::kWarning: return spdlog::level::warn;
    case LogLine::Level::kError: break;
  }
  return spdlog::level::err;
}

std::string as_text(const LogLine& line) {
  std::string out = line.event;
  for (const auto& [key, value] : line.fields) {
    if (value.empty()) continue;
    const bool quoted = value.find_first_of(" \"=\n") != std::string::npos;
    out += quoted ? fmt::format(" {}={}", key, Json(value).dump()) : fmt::format(" {}={}", key, value);
  }
  return out;
}

std::string as_json(const LogLine& line) {
  Json object = {{"event", line.event}};
  for (const auto& [key, value] : line.fields) object[key] = value;
  const std::string text = object.dump();
  return text.substr(1, text.size() - 2);
}

}  // namespace

Result<Log> make_log(const std::string& style) {
  if (style == "none") return Log{};
  if (style != "text" && style != "json")
    return fail(ErrorCode::kBadConfig, fmt::format("--log {}: must be text, json or none", style));
  const bool json = style == "json";
  const auto logger =
      std::make_shared<spdlog::logger>("mfl", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_pattern(
      json ? R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l",%v})" : "%Y-%m-%dT%H:%M:%S.%eZ %l %v",
      spdlog::pattern_time_type::utc);
  logger->flush_on(spdlog::level::info);
  return Log([logger, json](const LogLine& line) {
    logger->log(level_of(line.level), "{}", json ? as_json(line) : as_text(line));
  });
}

}  // namespace mfl::cli
