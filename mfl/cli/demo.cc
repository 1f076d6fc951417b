#include <fmt/core.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "mfl/base/files.h"
#include "mfl/cli/children.h"
#include "mfl/cli/commands.h"
#include "mfl/cli/config_flags.h"
#include "mfl/cli/interrupt.h"
#include "mfl/cli/text.h"
#include "mfl/config/entries.h"
#include "mfl/data/source.h"
#include "mfl/load/config_partition.h"
#include "mfl/network/certs.h"
#include "mfl/partition/split.h"
#include "mfl/run/runner.h"

namespace mfl::cli {
namespace {

namespace fs = std::filesystem;

struct DemoArguments {
  ConfigFlags flags;
};

Config demo_config() {
  Config config;
  config.data.train = 5000;
  config.data.test = 0;
  config.run.steps = 100;
  return config;
}

// The keys that change what the server, its nodes and the simulation compute.
bool is_demonstrated(const Key& key) {
  if (key.table == "data") return key.key != "test" && key.key != "test_source";
  if (key.table == "federation")
    return key.key == "nodes" || key.key == "partition" || key.key == "fraction_train";
  if (key.table == "run") return key.key == "steps" || key.key == "seed" || key.key == "precision";
  return key.table == "model" || key.table == "algorithm";
}

void say(const std::string& line) {
  std::fputs((line + '\n').c_str(), stderr);
  std::fflush(stderr);
}

std::string demo_node_name(std::size_t i) { return fmt::format("node-{:04}", i); }

Result<void> make_certificates(const fs::path& pki, std::size_t nodes) {
  MFL_CHECK(make_authority(pki));
  MFL_CHECK(make_server_certificate(pki, {"localhost", "127.0.0.1"}));
  for (std::size_t i = 0; i < nodes; ++i) MFL_CHECK(make_node_certificate(pki, demo_node_name(i)));
  return {};
}

// Each node's samples in a folder of its own, as mfl data split writes them. Returns the server's configuration, which names the
// classes of multiclass data as the folders have them: text labels are numbers there.
Result<Config> deal_data(const Config& config, const fs::path& parts) {
  MFL_TRY(const TrainTest data, load(data_options(config)));
  MFL_TRY(const NodesData nodes, data_of_nodes(config, data.train));
  MFL_CHECK(split_to_folders(nodes.rows, nodes.partition, parts, is_own_data(config.data.source)));
  Config served = config;
  if (effective_label_task(config) != LabelTask::kMulticlass) return served;
  const auto& origin = data.train.origin;
  const bool text = origin && !origin->classes.empty();
  const Dataset labels{.rows = data.train.rows,
                       .columns = data.train.columns,
                       .features = {},
                       .labels = data.train.labels,
                       .origin = text ? nullptr : origin};
  if (text || served.schema.classes.empty()) {
    MFL_TRY(const Schema seen, observe(labels, LabelTask::kMulticlass));
    served.schema.classes = seen.classes;
  }
  return served;
}

tl::unexpected<Error> child_failure(const std::string& who, int code, const fs::path& out) {
  const std::string log = read_file(out.string() + ".log").value_or("");
  const std::size_t end = log.find_last_not_of('\n');
  const std::size_t start = end == std::string::npos ? 0 : log.rfind('\n', end) + 1;
  return fail(ErrorCode::kNetwork,
              fmt::format("{} ended with exit code {}: {}", who, code, log.substr(start, end + 1 - start)));
}

Result<std::string> wait_for_address(Child& server, const fs::path& folder) {
  const fs::path file = folder / "state" / "address";
  for (;;) {
    if (!server.running()) return child_failure("the server", server.wait(), folder / "server");
    std::error_code ignored;
    if (fs::exists(file, ignored)) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  MFL_TRY(std::string address, read_file(file));
  while (!address.empty() && address.back() == '\n') address.pop_back();
  return address;
}

Result<void> wait_for_all(Child& server, std::vector<Child>& nodes, const fs::path& folder,
                          const std::atomic<bool>& stop) {
  for (;;) {
    if (stop) return fail(ErrorCode::kRunFailed, "the demonstration was interrupted");
    bool going = server.running();
    if (!going && server.wait() != 0) return child_failure("the server", server.wait(), folder / "server");
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (nodes[i].running())
        going = true;
      else if (nodes[i].wait() != 0)
        return child_failure(demo_node_name(i), nodes[i].wait(), folder / demo_node_name(i));
    }
    if (!going) return {};
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

// The federation's digest, from five processes.
Result<Json> run_federation(const Config& config, const fs::path& folder, const std::atomic<bool>& stop) {
  const std::size_t count = config.federation.nodes;
  MFL_CHECK(make_certificates(folder / "pki", count));
  say(fmt::format("made an authority and {} certificates", count + 1));
  MFL_TRY(const Config served, deal_data(config, folder / "parts"));
  say(fmt::format("wrote the samples of {} nodes from {}", count, config.data.source));
  MFL_CHECK(write_file(folder / "experiment.toml", to_toml(served)));
  MFL_TRY(Child server,
          Child::start({"server", folder / "experiment.toml", "--listen", "127.0.0.1:0", "--state",
                        folder / "state", "--tls", folder / "pki" / "server", "--json"},
                       folder / "server"));
  MFL_TRY(const std::string address, wait_for_address(server, folder));
  say(fmt::format("the server listens on {} (mutual TLS)", address));
  std::vector<Child> nodes;
  for (std::size_t i = 0; i < count; ++i) {
    MFL_TRY(Child node,
            Child::start({"node", "--server", address, "--data",
                          "npy:" + (folder / "parts" / demo_node_name(i)).string(), "--tls",
                          folder / "pki" / demo_node_name(i), "--threads", "1", "--give-up-after", "30"},
                         folder / demo_node_name(i)));
    nodes.push_back(std::move(node));
  }
  say(fmt::format("{} node processes are training", count));
  MFL_CHECK(wait_for_all(server, nodes, folder, stop));
  MFL_TRY(const std::string answer, read_file(folder / "server.out"));
  const Json reply = Json::parse(answer).value_or(nullptr);
  const Json* data = reply.find("data");
  if (data == nullptr) return fail(ErrorCode::kInternal, "cannot read the server's reply");
  return *data;
}

Result<Reply> federation_command(const DemoArguments& args) {
  Config config = demo_config();
  MFL_CHECK(args.flags.apply(config));
  MFL_CHECK(validate(config));
  config.data.task = effective_task(config);  // the nodes hold parts that do not tell where they are from
  MFL_TRY(const TempFolder folder, TempFolder::make());
  const std::atomic<bool>& stop = watch_interrupts();
  MFL_TRY(Json served, run_federation(config, folder.path(), stop));
  say("running the same experiment in one process");
  MFL_TRY(const RunOutcome simulated,
          run_experiment(config, {.store = folder.path() / "runs.db"}, {.progress = {}, .stop = &stop}));
  const std::string digest = std::string(served["digest"].text());
  const bool equal = digest == simulated.digest && !digest.empty();
  Reply reply;
  reply.data = {{"nodes", config.federation.nodes},
                {"rounds", served["rounds"]},
                {"federation_digest", digest},
                {"simulation_digest", simulated.digest},
                {"equal", equal}};
  reply.text = facts_text({
      {"federation", fmt::format("{} ({} processes, {} rounds)", digest, config.federation.nodes + 1,
                                 served["rounds"].dump())},
      {"simulation", simulated.digest},
      {"equal", equal ? "yes, bit for bit" : "no"},
  });
  if (!equal)
    reply.failure = Error{ErrorCode::kInternal, "the federation and the simulation differ",
                          "this is a bug: please report it", nullptr};
  return reply;
}

}  // namespace

void setup_demo(Command& mfl, Commands& commands) {
  Command* demo = mfl.add_subcommand("demo", "Demonstrations on this machine");
  demo->footer("Example:\n  mfl demo federation");
  const auto args = std::make_shared<DemoArguments>();
  Command& command = commands.add(
      *demo, "federation", "Run a server and nodes on loopback and compare the result with the simulation",
      "  mfl demo federation\n  mfl demo federation --data synthetic --train 400 --algorithm fl --steps 40",
      [args] { return federation_command(*args); });
  args->flags.add(command, is_demonstrated, demo_config());
}

}  // namespace mfl::cli
