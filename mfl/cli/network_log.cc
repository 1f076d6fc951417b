#include "mfl/cli/network_log.h"

#include <fmt/core.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "mfl/cli/reply.h"
#include "mfl/cli/text.h"

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

Result<LogLine::Level> parse_level(const std::string& name) {
  using Level = LogLine::Level;
  for (const auto& [known, level] :
       {std::pair{"debug", Level::kDebug}, std::pair{"info", Level::kInfo},
        std::pair{"warning", Level::kWarning}, std::pair{"error", Level::kError}})
    if (name == known) return level;
  return fail(ErrorCode::kBadConfig,
              fmt::format("--log-level {}: must be error, warning, info or debug", name));
}

std::string as_text(const LogLine& line) {
  std::string out = line.event;
  for (const auto& [key, value] : line.fields) {
    if (value.empty()) continue;
    const bool quoted = std::ranges::any_of(
        value, [](unsigned char c) { return c <= ' ' || c == '"' || c == '=' || c == '\x7f'; });
    out += quoted ? fmt::format(" {}={}", key, Json(value).dump()) : fmt::format(" {}={}", key, value);
  }
  return out;
}

// For somebody who watches: short times, and lines folded to the width of the terminal.
constexpr const char* kTerminalPattern = "%H:%M:%S %v";
constexpr std::size_t kTimeColumns = 9;

std::string for_terminal(const LogLine& line) {
  std::string text(kTimeColumns, ' ');
  if (line.level == LogLine::Level::kWarning) text += "warning: ";
  if (line.level == LogLine::Level::kError) text += "error: ";
  return folded(text + as_text(line), terminal_width(STDERR_FILENO), kTimeColumns).substr(kTimeColumns);
}

std::string as_json(const LogLine& line) {
  Json object = {{"event", line.event}};
  for (const auto& [key, value] : line.fields) object[key] = value;
  const std::string text = object.dump();
  return text.substr(1, text.size() - 2);
}

}  // namespace

void LogFlags::add(Command& command) {
  command.add_option("--log", style, "Log on stderr: text, json or none")
      ->type_name("STYLE")
      ->choices({"text", "json", "none"})
      ->capture_default_str();
  command.add_option("--log-level", level, "Least level that is logged: error, warning, info or debug")
      ->type_name("LEVEL")
      ->choices({"error", "warning", "info", "debug"})
      ->capture_default_str();
}

Result<Log> make_log(const LogFlags& flags) {
  MFL_TRY(const LogLine::Level least, parse_level(flags.level));
  if (flags.style == "none") return Log{};
  if (flags.style != "text" && flags.style != "json")
    return fail(ErrorCode::kBadConfig, fmt::format("--log {}: must be text, json or none", flags.style));
  const bool json = flags.style == "json";
  const bool terminal = !json && ::isatty(STDERR_FILENO) == 1;
  const auto logger =
      std::make_shared<spdlog::logger>("mfl", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_pattern(json       ? R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l",%v})"
                      : terminal ? kTerminalPattern
                                 : "%Y-%m-%dT%H:%M:%S.%eZ %l %v",
                      terminal ? spdlog::pattern_time_type::local : spdlog::pattern_time_type::utc);
  logger->set_level(spdlog::level::debug);
  logger->flush_on(spdlog::level::debug);
  return Log([logger, json, terminal, least](const LogLine& given) {
    if (given.level < least) return;
    const LogLine line = bounded(given);
    logger->log(level_of(line.level), "{}",
                json       ? as_json(line)
                : terminal ? for_terminal(line)
                           : as_text(line));
  });
}

}  // namespace mfl::cli
