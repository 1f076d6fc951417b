#include "mfl/cli/commands.h"

#include <fmt/core.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "mfl/base/files.h"
#include "mfl/base/kernels/kernels.h"

namespace mfl::cli {

Command& Commands::add(Command& parent, const std::string& name, const std::string& help,
                       const std::string& example, Action action) {
  Command* command = parent.add_subcommand(name, help);
  command->add_flag("--json", json, "One JSON object on stdout");
  command->footer("Example:\n" + example);
  actions[command] = std::move(action);
  return *command;
}

void add_store_flag(Command& command, std::string& path) {
  path = default_store_path().string();
  command.add_option("--store", path, "The run store; also set by MFL_STORE")
      ->type_name("PATH")
      ->capture_default_str();
}

Result<Store> open_store(const std::string& path, bool read_only) {
  std::error_code unseen;
  if (!std::filesystem::exists(path, unseen) && !unseen)
    return fail(ErrorCode::kBadConfig, fmt::format("there is no run store at {}", path),
                "mfl run creates one; --store or MFL_STORE names another");
  return Store::open(path, StoreOptions{.read_only = read_only});
}

Result<void> check_kernel_choice() {
  const char* name = std::getenv("MFL_KERNEL");
  if (name == nullptr || find_kernel_set(name) != nullptr) return {};
  std::vector<std::string_view> names;
  for (const KernelSet& set : kernel_sets()) names.push_back(set.name);
  return fail(ErrorCode::kBadConfig, fmt::format("MFL_KERNEL={}: this machine has no such kernels", name),
              fmt::format("unset it, or use one of: {}", fmt::join(names, ", ")));
}

void setup_all(Command& mfl, Commands& commands) {
  mfl.add_flag("--version", commands.version,
               "Print version, commit and the kernels of this machine, and exit");
  mfl.footer(
      "Example:\n"
      "  mfl run --data synthetic --nodes 4 --algorithm mfl --gamma 0.5 --steps 200\n"
      "  mfl runs show latest\n"
      "Exit codes: 0 done, 1 run failed, 2 bad arguments or configuration, 3 bad data, 4 network, 5 bug in "
      "mfl.");
  setup_init(mfl, commands);
  setup_run(mfl, commands);
  setup_sweep(mfl, commands);
  setup_reproduce(mfl, commands);
  setup_study(mfl, commands);
  setup_report(mfl, commands);
  setup_predict(mfl, commands);
  setup_evaluate(mfl, commands);

  Command* model = mfl.add_subcommand("model", "Trained models: show, export");
  model->footer("Example:\n  mfl model show latest\n  mfl model export latest --format npz --out model.npz");
  setup_model_show(*model, commands);
  setup_model_export(*model, commands);

  Command* theory =
      mfl.add_subcommand("theory", "Convergence theory: bounds, a checked run, advice on settings");
  theory->footer("Example:\n  mfl theory run --data synthetic --model squared-svm --steps 200");
  setup_theory_run(*theory, commands);
  setup_theory_h(*theory, commands);
  setup_theory_advise(*theory, commands);
#ifdef MFL_NETWORK
  setup_server(mfl, commands);
  setup_node(mfl, commands);
  setup_certs(mfl, commands);
  setup_demo(mfl, commands);
#endif

  Command* data = mfl.add_subcommand("data", "Fetch, describe, partition and split data");
  data->footer("Example:\n  mfl data fetch mnist\n  mfl data info mnist");
  setup_data_fetch(*data, commands);
  setup_data_info(*data, commands);
  setup_data_partition(*data, commands);
  setup_data_split(*data, commands);

  Command* runs = mfl.add_subcommand("runs", "Recorded runs: list, show, compare, export, merge, delete");
  runs->footer("Example:\n  mfl runs list\n  mfl runs show latest");
  setup_runs_list(*runs, commands);
  setup_runs_show(*runs, commands);
  setup_runs_compare(*runs, commands);
  setup_runs_export(*runs, commands);
  setup_runs_merge(*runs, commands);
  setup_runs_delete(*runs, commands);

  setup_keys(mfl, commands);
  setup_help(mfl, commands);
  setup_version(mfl, commands);
  setup_completion(mfl, commands);
  setup_man(mfl, commands);
}

}  // namespace mfl::cli
