#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <string>

#include "mfl/cli/commands.h"
#include "mfl/cli/config_flags.h"
#include "mfl/cli/interrupt.h"
#include "mfl/cli/keep_memory.h"
#include "mfl/cli/network_log.h"
#include "mfl/cli/text.h"
#include "mfl/network/host.h"
#include "mfl/report/test_metrics.h"
#include "mfl/run/outcome_json.h"

namespace mfl::cli {
namespace {

struct ServerArguments {
  HostOptions options;  // as far as flags fill it
  std::string file, state = "state", tls, allowed, revoked, on_outlier = "refuse";
  LogFlags log;
  bool plaintext = false;
  double linger = 30;
  std::uint64_t max_megabytes = 1024, quota_megabytes = 256;
  ConfigFlags flags;
};

Result<HostOptions> host_options(const ServerArguments& args) {
  HostOptions options = args.options;
  options.server.admission = {args.allowed, args.revoked};
  MFL_TRY(options.server.tls,
          tls_or_plaintext(args.tls, args.plaintext, "a server",
                           "make certificates with mfl certs, or use --plaintext on loopback"));
  constexpr unsigned kMegabyte = 20;
  options.server.memory_quota = args.quota_megabytes << kMegabyte;
  options.max_payload = args.max_megabytes << kMegabyte;
  options.state = args.state;
  if (options.drop_all_rounds && options.from_round != 0U)
    return fail(ErrorCode::kBadConfig, "--drop-all-rounds confirms --from-round 0, which is missing",
                "leave it out, or add --from-round 0");
  options.linger = std::chrono::milliseconds(std::llround(1000 * args.linger));
  options.on_outlier = parse_on_outlier(args.on_outlier).value_or(OnOutlier::kRefuse);
  return options;
}

// A server that was stopped knows the loss of an earlier round only.
std::string served_loss_text(const RunOutcome& outcome) {
  if (!outcome.digest.empty()) return loss_text(outcome.final.train_loss);
  if (!outcome.final.train_loss || !std::isfinite(*outcome.final.train_loss)) return "";
  return loss_text(outcome.final.train_loss) + " (of an earlier round)";
}

Result<Reply> server_command(const ServerArguments& args) {
  keep_freed_memory();
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
  const auto tested = read_test_metrics(outcome.test_metrics);
  Facts facts = {
      {"run", fmt::format("{} ({})", outcome.run_id, outcome.status)},
      {"end", outcome.status == "done" ? outcome.message : ""},
      {"step", fmt::format("{} of {}{}, {} rounds", outcome.final.step,
                           has_budget(config.run) ? "at most " : "", run_length(config), outcome.rounds)},
      {"schema", outcome.schema == Schema{} ? "" : schema_text(outcome.schema)},
      {"train loss", served_loss_text(outcome)},
      {"test loss", loss_text(outcome.final.test_loss)},
      {"test accuracy", percent_text(outcome.final.test_accuracy) + (tested ? top_text(*tested) : "")},
      {"digest", outcome.digest},
      {"state", args.state + (outcome.digest.empty() ? " (start the server again to continue)" : "")},
  };
  add_metrics(facts, outcome.test_metrics);
  add_warnings(facts, outcome.warnings);
  reply.text = facts_text(facts) + class_tables_text(outcome.test_metrics);
  if (options.server.measure) {
    reply.data["measured"] = hosted.measured;
    reply.text += "\n" + hosted.measured;
  }
  if (outcome.status == "diverged")
    reply.failure =
        Error{ErrorCode::kRunFailed, fmt::format("run {} diverged: {}", outcome.run_id, outcome.message),
              "lower eta or gamma", nullptr};
  return reply;
}

}  // namespace

void setup_server(Command& mfl, Commands& commands) {
  const auto args = std::make_shared<ServerArguments>();
  args->options.server.listen = "127.0.0.1:7443";
  Command& command = commands.add(
      mfl, "server", "Coordinate a federation: nodes join over the network",
      "  mfl server experiment.toml --listen 0.0.0.0:7443 --state state --tls pki/server\n"
      "mfl certs makes pki/server. "
      "Restarted with the same state it continues from the last committed round. SIGTERM stops it cleanly.",
      [args] { return server_command(*args); });
  command.add_option("FILE", args->file, "Experiment file (TOML): model, algorithm, steps, how many nodes");
  args->flags.add(command, [](const Key& key) {
    return key.table == "model" || key.table == "algorithm" || key.table == "schema" || key.key == "task" ||
           key.key == "positive" || (key.table == "federation" && key.key != "partition") ||
           (key.table == "run" && key.key != "engine" && key.key != "threads" &&
            key.key != "checkpoint_every");
  });
  args->flags.add_set(command);
  command
      .add_option("--listen", args->options.server.listen,
                  "Address; port 0 for any free port, written to STATE/address")
      ->type_name("HOST:PORT")
      ->capture_default_str();
  command.add_option("--state", args->state, "Folder that holds the run: STATE/runs.db is a run store")
      ->type_name("DIR")
      ->capture_default_str();
  command
      .add_option(
          "--from-round", args->options.from_round,
          "Go back to the State of this round, one of the last keep_states; later rounds are dropped and "
          "marked. 0 begins again, with what is measured before the first round. Pass it once")
      ->type_name("R");
  command.add_flag("--drop-all-rounds", args->options.drop_all_rounds, "Confirms --from-round 0");
  command.add_option("--tls", args->tls, "Folder with ca.pem, cert.pem and key.pem, made by mfl certs")
      ->type_name("DIR");
  command.add_flag("--plaintext", args->plaintext, "Without TLS, on loopback only");
  command
      .add_option("--allow", args->allowed,
                  "Nodes that may take part, one per line: NAME or NAME max_samples=N; read again when it "
                  "changes")
      ->type_name("FILE");
  command
      .add_option("--revoked", args->revoked,
                  "Serial numbers or names of certificates that may not; read again when it changes")
      ->type_name("FILE");
  command
      .add_option("--features", args->options.columns, "Features of a sample; 0: as the first node has them")
      ->type_name("N")
      ->capture_default_str();
  command
      .add_option("--test-data", args->options.test_data,
                  "Data spec of a test set that the server holds, for the records (default: none)")
      ->type_name("SPEC");
  command
      .add_option(
          "--on-outlier", args->on_outlier,
          "For a node whose data is unlike the others' before the first round: refuse (no round while "
          "it is connected), exclude (it is no member of this run) or warn")
      ->choices({"refuse", "exclude", "warn"})
      ->capture_default_str();
  command.add_option("--max-model-mb", args->max_megabytes, "Largest State in MB")
      ->type_name("N")
      ->check_range(1, 1 << 20)
      ->capture_default_str();
  command.add_option("--memory-quota-mb", args->quota_megabytes, "Memory for messages in transit in MB")
      ->type_name("N")
      ->check_range(16, 1 << 20)
      ->capture_default_str();
  command
      .add_option("--max-connections", args->options.server.max_connections,
                  "Most connections; others are closed at once. 0: as many as the limit on open files allows")
      ->type_name("N")
      ->capture_default_str();
  command
      .add_option("--linger", args->linger,
                  "Seconds to wait after the end, at most, for nodes that do not know of it yet")
      ->type_name("S")
      ->check_range(0.0, 1e6)
      ->capture_default_str();
  command.add_flag("--measure", args->options.server.measure,
                   "At the end print [devices] and [network] of this federation, for mfl run to simulate");
  command.add_option("--metrics", args->options.server.metrics, "Address of a Prometheus endpoint")
      ->type_name("HOST:PORT");
  args->log.add(command);
  setup_server_status(command, commands);
}

}  // namespace mfl::cli
