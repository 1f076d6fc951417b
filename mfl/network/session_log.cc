#include "mfl/network/session_log.h"

#include <fmt/format.h>

#include <algorithm>

#include "mfl/network/expiry.h"

namespace mfl {
namespace {

std::string names_set_aside(const FederationStatus& status) {
  std::string names;
  for (const NodeStanding& node : status.standings)
    if (node.set_aside) names += (names.empty() ? "" : ", ") + node.name;
  return names.empty() ? "none" : names;
}

}  // namespace

void SessionLog::write(LogLine::Level level, std::string event, LogFields fields) {
  if (!log_) return;
  const auto now =
      std::chrono::duration_cast<LogLimit::Time>(std::chrono::steady_clock::now().time_since_epoch());
  std::uint64_t left_out = 0;
  if (level == LogLine::Level::kWarning) {
    std::string kind = event;
    for (const auto& [key, value] : fields)
      if (key != "text") kind += ' ' + value;
    const auto others = warnings_.pass(kind, now);
    if (!others) return;
    left_out = *others;
  }
  const auto node = std::ranges::find(fields, "node", [](const auto& field) { return field.first; });
  if (node != fields.end()) {
    const auto others = peers_.pass(node->second, now, left_out + 1);
    if (!others) return;
    left_out += *others;
  }
  if (left_out > 0) fields.emplace_back("left_out", fmt::to_string(left_out));
  log_({level, std::move(event), std::move(fields)});
}

void SessionLog::refused(const std::string& node, std::string_view call, Reason reason,
                         std::string_view text) {
  write(LogLine::Level::kWarning, "refused",
        {{"node", node},
         {"call", std::string(call)},
         {"reason", std::string(reason_name(reason))},
         {"text", std::string(text)}});
}

void SessionLog::progress(FederationStatus status) {
  const auto [loss, value] = loss_of_rounds(status.losses);
  if (started_ && status.round != last_.round)
    write(LogLine::Level::kInfo, "round",
          {{"round", fmt::to_string(status.round)},
           {"step", fmt::format("{}/{}", status.step, status.steps)},
           {std::string(loss), value ? fmt::format("{:.9g}", *value) : "-"},
           {"nodes", fmt::to_string(status.last_nodes)},
           {"ms", fmt::to_string(status.last_round.count())}});
  if (status.schema != last_.schema && !status.schema.empty())
    write(LogLine::Level::kInfo, "schema", {{"text", status.schema}});
  if (status.phase != last_.phase && status.phase == "preparing")
    write(LogLine::Level::kInfo, "measuring", {{"nodes", fmt::to_string(status.nodes)}});
  if (status.abandoned != last_.abandoned)
    write(LogLine::Level::kWarning, "abandoned", {{"text", status.trouble}});
  if (status.phase == "preparing" && status.trouble != last_.trouble && !status.trouble.empty())
    write(LogLine::Level::kWarning, "blocked", {{"text", status.trouble}});
  if (status.warnings != last_.warnings) log_new(status.warnings);
  if (status.quarantined != last_.quarantined)
    write(LogLine::Level::kInfo, "quarantine", {{"nodes", names_set_aside(status)}});
  if (status.phase != last_.phase &&
      (status.phase == "done" || status.phase == "diverged" || status.phase == "failed"))
    write(status.phase == "done" ? LogLine::Level::kInfo : LogLine::Level::kError, status.phase,
          {{"round", fmt::to_string(status.round)}, {"digest", status.digest}, {"text", status.trouble}});
  started_ = true;
  last_ = std::move(status);
}

// Each once, past the limit on lines: their number is bounded by the nodes.
void SessionLog::log_new(const std::vector<std::string>& warnings) {
  constexpr std::size_t kMost = 10'000;
  for (const std::string& text : warnings) {
    std::string kind = text;
    std::erase_if(kind, [](char c) { return c >= '0' && c <= '9'; });
    if (warned_.size() < kMost && warned_.insert(kind).second && log_)
      log_({LogLine::Level::kWarning, "warning", {{"text", text}}});
  }
}

void SessionLog::expiry(const std::string& node, std::chrono::sys_seconds expires) {
  if (days_left(expires) >= kExpiryWarningDays) return;
  write(LogLine::Level::kWarning, "expiring",
        {{"node", node},
         {"text", fmt::format("the certificate of {} {}: renew it with mfl certs renew",
                              node.empty() ? "this server" : node, expiry_text(expires))}});
}

}  // namespace mfl
