#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>

#include "mfl/cli/commands.h"
#include "mfl/cli/interrupt.h"
#include "mfl/cli/text.h"
#include "mfl/network/client.h"
#include "mfl/network/expiry.h"
#include "mfl/report/table.h"

namespace mfl::cli {
namespace {

struct StatusArguments {
  std::string server, tls;
  bool plaintext = false, watch = false;
};

using Expiry = std::optional<std::int64_t>;  // Unix time

std::chrono::sys_seconds unix_time(std::int64_t seconds) {
  return std::chrono::sys_seconds(std::chrono::seconds(seconds));
}

Json expiry_json(const Expiry& expires) {
  return expires ? Json(date_text(unix_time(*expires))) : Json(nullptr);
}

std::string certificate_text(const Expiry& expires) {
  if (!expires) return "-";
  const int days = days_left(unix_time(*expires));
  return days < kExpiryWarningDays ? expiry_text(unix_time(*expires))
                                   : fmt::format("until {}", date_text(unix_time(*expires)));
}

double in_seconds(Time time) { return std::chrono::duration<double>(time).count(); }

// "0.0256 ms", "12.5 ms", "93.5 s".
std::string brief_duration(const std::optional<double>& seconds) {
  constexpr double kMilliseconds = 1000;
  return seconds && *seconds < 1 ? fmt::format("{:.3g} ms", kMilliseconds * *seconds) : seconds_text(seconds);
}

Json node_status_json(const NodeStatus& node) {
  return {{"name", node.name},
          {"connected", node.connected},
          {"last_seen_seconds", in_seconds(node.silent)},
          {"samples", node.samples},
          {"round", node.round},
          {"train_loss", optional_json(node.losses.train_loss)},
          {"batch_loss", optional_json(node.losses.batch_loss)},
          {"start_loss", optional_json(node.losses.start_loss)},
          {"seconds", optional_json(node.seconds)},
          {"certificate_expires", expiry_json(node.certificate_expires)},
          {"failures", node.failures},
          {"barred", node.barred.empty() ? Json(nullptr) : Json(node.barred)},
          {"quarantined_seconds", node.set_aside ? Json(in_seconds(*node.set_aside)) : Json(nullptr)}};
}

std::string node_state(const NodeStatus& node) {
  if (!node.barred.empty()) return node.barred;
  if (node.set_aside) return fmt::format("set aside for {:.0f} s", in_seconds(*node.set_aside));
  return node.connected ? "connected" : "gone";
}

// All nodes have the same one.
std::string loss_column(const std::vector<NodeStatus>& nodes) {
  for (const NodeStatus& node : nodes)
    if (const auto [name, value] = loss_of_rounds(node.losses); value)
      return fmt::format("{} loss", name.substr(0, name.find('_')));
  return "train loss";
}

std::string node_table(const std::vector<NodeStatus>& nodes) {
  if (nodes.empty()) return "";
  Table table({{"node"},
               {"state"},
               {"last seen", Align::kRight},
               {"samples", Align::kRight},
               {"round", Align::kRight},
               {loss_column(nodes), Align::kRight},
               {"steps took", Align::kRight},
               {"failures", Align::kRight},
               {"certificate"}});
  for (const NodeStatus& node : nodes)
    table.add({node.name, node_state(node), fmt::format("{:.0f} s ago", in_seconds(node.silent)),
               fmt::to_string(node.samples), node.round == 0 ? "-" : fmt::to_string(node.round),
               number_text(loss_of_rounds(node.losses).value), brief_duration(node.seconds),
               fmt::to_string(node.failures), certificate_text(node.certificate_expires)});
  return "\n" + table.text();
}

// Those that have occurred: as an object, and as "2 stale, 1 late".
std::pair<Json, std::string> refusals(const FederationStatus& status) {
  Json counts = Json::object();
  std::string text;
  for (int r = 1; r < kReasons; ++r) {
    const std::uint64_t count = status.refused[static_cast<std::size_t>(r)];
    if (count == 0) continue;
    const std::string name(reason_name(static_cast<Reason>(r)));
    counts[name] = count;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, name);
  }
  return {counts, text};
}

Json status_json(const FederationStatus& status) {
  Json nodes = Json::array();
  for (const NodeStatus& node : status.node_list) nodes.push_back(node_status_json(node));
  Json warnings = Json::array();
  for (const std::string& warning : status.warnings) warnings.push_back(warning);
  return {{"run_id", status.run_id},
          {"phase", status.phase},
          {"round", status.round},
          {"step", status.step},
          {"steps", status.steps},
          {"nodes", status.nodes},
          {"nodes_needed", status.needed},
          {"chosen", status.chosen},
          {"counted", status.counted},
          {"abandoned", status.abandoned},
          {"quarantined", status.quarantined},
          {"bytes_up", status.bytes_up},
          {"bytes_down", status.bytes_down},
          {"refused", refusals(status).first},
          {"failed_handshakes", status.failed_handshakes},
          {"digest", status.digest},
          {"trouble", status.trouble},
          {"schema", status.schema},
          {"last_round_ms", status.last_round.count()},
          {"train_loss", optional_json(status.losses.train_loss)},
          {"batch_loss", optional_json(status.losses.batch_loss)},
          {"start_loss", optional_json(status.losses.start_loss)},
          {"test_loss", optional_json(status.test_loss)},
          {"test_accuracy", optional_json(status.test_accuracy)},
          {"node_list", nodes},
          {"server_version", status.version},
          {"certificate_expires", expiry_json(status.certificate_expires)},
          {"warnings", warnings}};
}

std::string status_text(const FederationStatus& status) {
  const bool expiring =
      status.certificate_expires && days_left(unix_time(*status.certificate_expires)) < kExpiryWarningDays;
  Facts facts = {
      {"run", fmt::format("{} ({})", status.run_id, status.phase)},
      {"step", fmt::format("{} of {}, {} rounds", status.step, status.steps, status.round)},
      {"nodes", fmt::format("{} connected, {} needed; {} of {} have answered this round", status.nodes,
                            status.needed, status.counted, status.chosen)},
      {"train loss", loss_text(status.losses.train_loss)},
      {"batch loss", loss_text(status.losses.batch_loss)},
      {"start loss", loss_text(status.losses.start_loss)},
      {"test loss", loss_text(status.test_loss)},
      {"test accuracy", percent_text(status.test_accuracy)},
      {"last round", status.rounds_timed == 0 ? "" : fmt::format("{} ms", status.last_round.count())},
      {"abandoned", status.abandoned == 0 ? "" : fmt::to_string(status.abandoned)},
      {"refused", refusals(status).second},
      {"handshakes",
       status.failed_handshakes == 0 ? "" : fmt::format("{} have failed", status.failed_handshakes)},
      {"set aside", status.quarantined == 0 ? "" : fmt::format("{} nodes", status.quarantined)},
      {"trouble", status.trouble},
      {"schema", status.schema},
      {"digest", status.digest},
      {"certificate", expiring ? "the server's " + expiry_text(unix_time(*status.certificate_expires)) : ""},
  };
  for (const std::string& warning : status.warnings) facts.emplace_back("warning", warning);
  return facts_text(facts) + node_table(status.node_list);
}

// Until the run is over or somebody stops it: on a terminal in place, elsewhere one after the other.
Result<FederationStatus> watch(FederationClient& client, bool json) {
  constexpr std::chrono::seconds kPause{2};
  constexpr std::chrono::milliseconds kBeat{50};
  const std::atomic<bool>& stop = watch_interrupts();
  const bool terminal = ::isatty(STDOUT_FILENO) == 1;
  for (;;) {
    auto status = client.watch(true, true);
    if (!status) return tl::unexpected<Error>(status.error().error);
    const auto until = std::chrono::steady_clock::now() + kPause;
    if (!status->digest.empty() || stop) return *std::move(status);
    if (json)
      fmt::print("{}\n", status_json(*status).dump());
    else
      fmt::print("{}{}\n", terminal ? "\x1b[H\x1b[2J" : "", status_text(*status));
    std::fflush(stdout);
    while (!stop && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(kBeat);
  }
}

Result<Reply> status_command(const StatusArguments& args, bool json) {
  ClientOptions options{args.server, std::nullopt, args.plaintext ? "status" : ""};
  MFL_TRY(options.tls, tls_or_plaintext(args.tls, args.plaintext, "a status",
                                        "give the server's own folder on its machine, or that of a node"));
  MFL_TRY(const auto client, FederationClient::make(options));
  if (args.watch) {
    MFL_TRY(const FederationStatus last, watch(*client, json));
    return Reply{status_json(last), status_text(last), std::nullopt};
  }
  const auto watched = client->watch(true);
  if (!watched) return tl::unexpected<Error>(watched.error().error);
  return Reply{status_json(*watched), status_text(*watched), std::nullopt};
}

}  // namespace

void setup_server_status(Command& server, Commands& commands) {
  const auto args = std::make_shared<StatusArguments>();
  Command& command = commands.add(server, "status", "Ask a running server for its progress and its nodes",
                                  "  mfl server status fl.example.org:7443 --tls pki/hospital-a\n"
                                  "  mfl server status fl.example.org:7443 --tls pki/server --watch",
                                  [args, &commands] { return status_command(*args, commands.json); });
  command.add_option("SERVER", args->server, "HOST:PORT")->required();
  command.add_option("--tls", args->tls, "Folder made by mfl certs: a node's, or the server's own")
      ->type_name("DIR");
  command.add_flag("--watch", args->watch, "Ask every two seconds, until the run is over or Ctrl-C");
  command.add_flag("--plaintext", args->plaintext, "Without TLS, on loopback only");
}

}  // namespace mfl::cli
