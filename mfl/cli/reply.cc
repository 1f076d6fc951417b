#include "mfl/cli/reply.h"

#include <fmt/core.h>

#include <cmath>
#include <cstdio>

namespace mfl::cli {
namespace {

std::string json_number(double number) {
  if (!std::isfinite(number)) return "null";
  std::string text = fmt::format("{:.17g}", number);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string quoted(const std::string& text) { return Json(text).dump(); }

// Input may reach a message; it must not reach the terminal's control sequences nor break the line.
std::string one_line(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = ' ';
  return text;
}

std::string error_line(const Error& error) {
  const std::string_view hint = error.first_hint();
  return one_line(hint.empty() ? fmt::format("mfl: {}", error.text())
                               : fmt::format("mfl: {} ({})", error.text(), hint)) +
         '\n';
}

int print_out(const std::string& text, int code) {
  std::fputs(text.c_str(), stdout);
  if (std::fflush(stdout) == 0) return code;
  std::fputs("mfl: cannot write to standard output\n", stderr);
  return static_cast<int>(ErrorCode::kRunFailed);
}

}  // namespace

std::string dump(const Json& json) {
  std::string out;
  if (json.is_object()) {
    for (const auto& [key, value] : json.members())
      out += fmt::format("{}{}:{}", out.empty() ? "" : ",", quoted(key), dump(value));
    return '{' + out + '}';
  }
  if (json.is_array()) {
    for (const Json& value : json.elements()) out += (out.empty() ? "" : ",") + dump(value);
    return '[' + out + ']';
  }
  return json.is_double() ? json_number(json.number()) : json.dump();
}

int print_text(const std::string& text) { return print_out(text, 0); }

int print_reply(const Reply& reply, bool json) {
  const int code = reply.failure ? static_cast<int>(reply.failure->code) : 0;
  if (!json) {
    const int printed = print_out(reply.text, code);
    if (reply.failure) std::fputs(error_line(*reply.failure).c_str(), stderr);
    return printed;
  }
  Json object = {{"schema_version", 1}, {"status", reply.failure ? "error" : "ok"}};
  if (reply.failure) object["error"] = error_json(*reply.failure);
  object["data"] = reply.data;
  return print_out(dump(object) + '\n', code);
}

int print_error(const Error& error, bool json) {
  const int code = static_cast<int>(error.code);
  if (json)
    return print_out(dump({{"schema_version", 1}, {"status", "error"}, {"error", error_json(error)}}) + '\n',
                     code);
  std::fputs(error_line(error).c_str(), stderr);
  return code;
}

}  // namespace mfl::cli
