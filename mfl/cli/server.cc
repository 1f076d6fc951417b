#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <memory>
#include <string>

#include "mfl/cli/commands.h"
#include "mfl/cli/config_flags.h"
#include "mfl/cli/interrupt.h"
#include "mfl/cli/network_log.h"
#include "mfl/cli/outcome_json.h"
#include "mfl/cli/text.h"
#include "mfl/network/client.h"
#include "mfl/network/host.h"
#include "mfl/network/transport_log.h"

namespace mfl::cli {
namespace {

struct Arguments {
  std::string file, listen = "127.0.0.1:7443", state = "state", tls, allowed, revoked, metrics, test_data,
                    log = "text";
  bool plaintext = false, measure = false;
  double linger = 30;
  std::uint64_t columns = 0, max_megabytes = 1024, quota_megabytes = 256, max_connections = 0;
  ConfigFlags flags;
};

struct StatusArguments {
  std::string server, tls, name;
  bool plaintext = false;
};

std::chrono::milliseconds seconds(double s) {
  constexpr double kThousand = 1000;
  return std::chrono::milliseconds(std::llround(kThousand * s));
}

Result<HostOptions> host_options(const Arguments& args) {
  if (args.tls.empty() == !args.plaintext)
    return fail(ErrorCode::kBadConfig,
                args.plaintext ? "--tls and --plaintext exclude each other" : "a server needs --tls",
                "make certificates with mfl certs; on loopback --plaintext will do");
  HostOptions options;
  if (!args.tls.empty()) {
    MFL_TRY(options.server.tls, read_tls_folder(args.tls));
  }
  options.server.listen = args.listen;
  options.server.admission = {args.allowed, args.revoked};
  constexpr unsigned kMegabyte = 20;
  options.server.memory_quota = args.quota_megabytes << kMegabyte;
  options.max_payload = args.max_megabytes << kMegabyte;
  options.server.measure = args.measure;
  options.server.max_connections = args.max_connections;
  options.server.metrics = args.metrics;
  options.state = args.state;
  options.linger = seconds(args.linger);
  options.columns = args.columns;
  options.test_data = args.test_data;
  return options;
}

Result<Reply> server_command(const Arguments& args) {
  Config config;
  if (!args.file.empty()) {
    MFL_TRY(config, read_config(args.file));
  }
  MFL_CHECK(args.flags.apply(config));
  MFL_CHECK(validate(config));
  MFL_TRY(HostOptions options, host_options(args));
  MFL_TRY(options.server.log, make_log(args.log));
  options.stop = &watch_interrupts();
  MFL_TRY(const HostOutcome hosted, host_run(config, options));
  const RunOutcome& outcome = hosted.run;
  Reply reply{outcome_json(outcome), {}, std::nullopt};
  Facts facts = {
      {"run", fmt::format("{} ({})", outcome.run_id, outcome.status)},
      {"step", fmt::format("{} of {}, {} rounds", outcome.final.step, config.run.steps, outcome.rounds)},
      {"schema", outcome.schema == Schema{} ? "" : schema_text(outcome.schema)},
      {"train loss", outcome.digest.empty() ? "" : loss_text(outcome.final.train_loss)},
      {"test loss", loss_text(outcome.final.test_loss)},
      {"digest", outcome.digest},
      {"state", args.state + (outcome.digest.empty() ? " (start the server again to go on)" : "")},
  };
  add_warnings(facts, outcome.warnings);
  reply.text = facts_text(facts);
  if (args.measure) {
    reply.data["measured"] = hosted.measured;
    reply.text += "\n" + hosted.measured;
  }
  if (outcome.status == "diverged")
    reply.failure =
        Error{ErrorCode::kRunFailed, fmt::format("run {} diverged: {}", outcome.run_id, outcome.message),
              "lower eta or gamma", nullptr};
  return reply;
}

Result<Reply> status_command(const StatusArguments& args) {
  ClientOptions options{args.server, std::nullopt, args.plaintext ? "status" : ""};
  if (!args.tls.empty()) {
    MFL_TRY(options.tls, read_tls_folder(args.tls));
  }
  quiet_transport();
  MFL_TRY(const auto client, FederationClient::make(options));
  const auto watched = client->watch();
  if (!watched) return tl::unexpected<Error>(watched.error().error);
  const FederationStatus& status = *watched;
  Reply reply;
  Json refused = Json::object();
  std::string refused_text;
  for (int r = 1; r < kReasons; ++r) {
    const std::uint64_t count = status.refused[static_cast<std::size_t>(r)];
    if (count == 0) continue;
    const std::string name(reason_name(static_cast<Reason>(r)));
    refused[name] = count;
    refused_text += fmt::format("{}{} {}", refused_text.empty() ? "" : ", ", count, name);
  }
  reply.data = {{"run_id", status.run_id},         {"phase", status.phase},
                {"round", status.round},           {"step", status.step},
                {"steps", status.steps},           {"nodes", status.nodes},
                {"chosen", status.chosen},         {"counted", status.counted},
                {"abandoned", status.abandoned},   {"bytes_up", status.bytes_up},
                {"bytes_down", status.bytes_down}, {"refused", refused},
                {"digest", status.digest},         {"trouble", status.trouble},
                {"schema", status.schema},         {"last_round_ms", status.last_round.count()}};
  reply.data["train_loss"] = status.train_loss ? Json(*status.train_loss) : Json(nullptr);
  reply.text = facts_text({
      {"run", fmt::format("{} ({})", status.run_id, status.phase)},
      {"step", fmt::format("{} of {}, {} rounds", status.step, status.steps, status.round)},
      {"nodes", fmt::format("{} here, {} of {} have answered this round", status.nodes, status.counted,
                            status.chosen)},
      {"train loss", loss_text(status.train_loss)},
      {"last round", status.rounds_timed == 0 ? "" : fmt::format("{} ms", status.last_round.count())},
      {"abandoned", status.abandoned == 0 ? "" : fmt::to_string(status.abandoned)},
      {"refused", refused_text},
      {"trouble", status.trouble},
      {"schema", status.schema},
      {"digest", status.digest},
  });
  return reply;
}

void add_status(Command& server, Commands& commands) {
  const auto args = std::make_shared<StatusArguments>();
  Command& command = commands.add(server, "status", "Ask a running server how far it is",
                                  "  mfl server status fl.example.org:7443 --tls pki/hospital-a",
                                  [args] { return status_command(*args); });
  command.add_option("SERVER", args->server, "HOST:PORT")->required();
  command.add_option("--tls", args->tls, "A node's folder made by mfl certs")->type_name("DIR");
  command.add_flag("--plaintext", args->plaintext, "Without TLS, on loopback only");
}

}  // namespace

void setup_server(Command& mfl, Commands& commands) {
  const auto args = std::make_shared<Arguments>();
  Command& command = commands.add(
      mfl, "server", "Coordinate a federation: nodes join over the network",
      "  mfl server experiment.toml --listen 0.0.0.0:7443 --state state --tls pki/server\n"
      "mfl certs makes pki/server. "
      "Started again with the same state it goes on from the last committed round. SIGTERM stops it cleanly.",
      [args] { return server_command(*args); });
  command.add_option("FILE", args->file, "Experiment file (TOML): model, algorithm, steps, how many nodes");
  args->flags.add(command, [](const Key& key) {
    return key.table == "model" || key.table == "algorithm" || key.table == "schema" || key.key == "task" ||
           key.key == "positive" || (key.table == "federation" && key.key != "partition") ||
           (key.table == "run" && key.key != "engine" && key.key != "threads" &&
            key.key != "checkpoint_every");
  });
  args->flags.add_set(command);
  command.add_option("--listen", args->listen, "Address; port 0 for any, STATE/address then has it")
      ->type_name("HOST:PORT")
      ->capture_default_str();
  command.add_option("--state", args->state, "Folder that holds the run: STATE/runs.db is a run store")
      ->type_name("DIR")
      ->capture_default_str();
  command.add_option("--tls", args->tls, "Folder with ca.pem, cert.pem and key.pem, made by mfl certs")
      ->type_name("DIR");
  command.add_flag("--plaintext", args->plaintext, "Without TLS, on loopback only");
  command
      .add_option("--allow", args->allowed,
                  "Nodes that may take part, one name a line; read again when it changes")
      ->type_name("FILE");
  command
      .add_option("--revoked", args->revoked,
                  "Names or serial numbers of certificates that may not; read again when it changes")
      ->type_name("FILE");
  command.add_option("--features", args->columns, "Features of a sample; 0: as the first node has them")
      ->type_name("N")
      ->capture_default_str();
  command
      .add_option("--test-data", args->test_data,
                  "Data spec of a test set that the server holds, for the records; if not said, none")
      ->type_name("SPEC");
  command.add_option("--max-model-mb", args->max_megabytes, "Largest State in MB")
      ->type_name("N")
      ->check_range(1, 1 << 20)
      ->capture_default_str();
  command.add_option("--memory-quota-mb", args->quota_megabytes, "Memory for messages under way in MB")
      ->type_name("N")
      ->check_range(16, 1 << 20)
      ->capture_default_str();
  command
      .add_option("--max-connections", args->max_connections,
                  "Connections beyond are closed at once; 0: as many as the limit on open files allows")
      ->type_name("N")
      ->capture_default_str();
  command
      .add_option("--linger", args->linger,
                  "Seconds to stay after the end, at most, for nodes that have not heard of it")
      ->type_name("S")
      ->check_range(0.0, 1e6)
      ->capture_default_str();
  command.add_flag("--measure", args->measure,
                   "At the end print [devices] and [network] of this federation, for mfl run to simulate");
  command.add_option("--metrics", args->metrics, "Address of a Prometheus endpoint")->type_name("HOST:PORT");
  command.add_option("--log", args->log, "Log on stderr: text, json or none")
      ->type_name("STYLE")
      ->choices({"text", "json", "none"})
      ->capture_default_str();
  add_status(command, commands);
}

}  // namespace mfl::cli
