#include "mfl/network/node.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mfl/cli/commands.h"
#include "mfl/cli/config_flags.h"
#include "mfl/cli/interrupt.h"
#include "mfl/cli/keep_memory.h"
#include "mfl/cli/network_log.h"
#include "mfl/cli/text.h"
#include "mfl/cli/trainer_flags.h"

namespace mfl::cli {
namespace {

struct NodeArguments {
  NodeOptions options;  // as far as flags fill it
  std::string tls, state, allow = "train,measure";
  LogFlags log;
  bool plaintext = false;
  std::optional<double> give_up_after;
  TrainerFlags trainer;
  ConfigFlags flags;
};

Result<Reply> node_command(const NodeArguments& args) {
  keep_freed_memory();
  Config config;
  MFL_CHECK(args.flags.apply(config));
  const std::vector<std::string> given = args.flags.given();
  if (std::ranges::count(given, "--data") == 0 && args.trainer.spec.empty())
    return fail(ErrorCode::kBadConfig, "a node needs its data",
                "name it with --data, such as --data csv:my.csv, or your own program with --trainer");
  NodeOptions options = args.options;
  MFL_TRY(options.client.tls,
          tls_or_plaintext(args.tls, args.plaintext, "a node",
                           "make the folder with mfl certs, or use --plaintext and --name on loopback"));
  if (!options.client.tls && options.client.name.empty())
    return fail(ErrorCode::kBadConfig, "a node without a certificate needs --name");
  options.data = config.data;
  options.seed = config.run.seed;
  options.threads = config.run.threads;
  options.state = args.state;
  options.trainer = args.trainer.setup();
  options.allow_measure = args.allow != "train";
  if (args.give_up_after)
    options.give_up_after = std::chrono::milliseconds(std::llround(1000 * *args.give_up_after));
  MFL_TRY(options.log, make_log(args.log));
  options.stop = &watch_interrupts();
  MFL_TRY(const NodeOutcome outcome, run_node(options));
  Reply reply;
  reply.data = {{"run_id", outcome.run_id},          {"status", outcome.status},
                {"digest", outcome.digest},          {"samples", outcome.samples},
                {"features", outcome.columns},       {"rounds", outcome.rounds},
                {"connections", outcome.connections}};
  reply.text = facts_text({
      {"run", outcome.connections == 0 ? "none: stopped before the node had joined one"
                                       : fmt::format("{} ({})", outcome.run_id, outcome.status)},
      {"data",
       outcome.samples == 0 ? ""
       : args.trainer.spec.empty()
           ? fmt::format("{} samples x {} features, which stayed here", outcome.samples, outcome.columns)
           : fmt::format("{} samples, which stayed here; a model of {} numbers", outcome.samples,
                         outcome.columns)},
      {"rounds",
       outcome.connections == 0 ? "" : fmt::format("{} with an update of this node", outcome.rounds)},
      {"digest", outcome.digest},
  });
  if (outcome.status == "diverged")
    reply.failure = Error{ErrorCode::kRunFailed, fmt::format("run {} diverged", outcome.run_id), {}, nullptr};
  return reply;
}

}  // namespace

void setup_node(Command& mfl, Commands& commands) {
  const auto args = std::make_shared<NodeArguments>();
  Command& command = commands.add(
      mfl, "node", "Take part in a federation with the data of this machine",
      "  mfl node --server fl.example.org:7443 --data csv:my.csv --tls pki/hospital-a\n"
      "The data stays here: only model vectors, losses, durations and the number of samples are sent.\n"
      "With --trainer \"python train.py\" your own program trains your own model (docs/trainer.md).",
      [args] { return node_command(*args); });
  command.add_option("--server", args->options.client.server, "Address of the server")
      ->type_name("HOST:PORT")
      ->required();
  command.add_option("--tls", args->tls, "Folder with ca.pem, cert.pem and key.pem, made by mfl certs")
      ->type_name("DIR");
  command.add_flag("--plaintext", args->plaintext, "Without TLS, to loopback only");
  command.add_option("--name", args->options.client.name, "The node's name, for --plaintext only")
      ->type_name("NAME");
  command.add_option("--config-digest", args->options.config_digest, "Follow only this configuration")
      ->type_name("HEX");
  command
      .add_option("--state", args->state,
                  "File of the vectors that some algorithms keep at a node from round to round")
      ->type_name("FILE");
  command
      .add_option("--allow", args->allow,
                  "What this site gives: training, and in a run that standardises or weighs classes the sums "
                  "of its columns and its number of samples of each class (measure)")
      ->choices({"train,measure", "train"})
      ->capture_default_str();
  command
      .add_option("--give-up-after", args->give_up_after,
                  "Seconds without a connection before it gives up (default: never)")
      ->type_name("S")
      ->check_range(0.0, 1e9);
  args->trainer.add(command);
  args->log.add(command);
  args->flags.add(command, [](const Key& key) {
    return (key.table == "data" && key.key != "test" && key.key != "test_source") || key.key == "seed" ||
           key.key == "threads";
  });
}

}  // namespace mfl::cli
