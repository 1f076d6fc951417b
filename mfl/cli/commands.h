// The subcommands. Each has a file of its own: a struct of arguments, a setup function and the action.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "mfl/cli/command.h"
#include "mfl/cli/processes.h"
#include "mfl/cli/reply.h"
#include "mfl/record/store.h"

namespace mfl::cli {

// The actions of the subcommands, and what they share.
struct Commands {
  using Action = std::function<Result<Reply>()>;

  bool json = false;
  bool version = false;     // --version was given
  std::string_view commit;  // that the program was built from; empty if unknown
  std::map<const Command*, Action> actions;
  Processes processes;

  // Adds a subcommand with --json. `example` is printed under its help; its indented lines run as tests.
  Command& add(Command& parent, const std::string& name, const std::string& help, const std::string& example,
               Action action);
};

// Opens an existing store. A missing one is an error that says how to create it.
Result<Store> open_store(const std::string& path, bool read_only = true);

// How a run may be named on the command line (Store::get).
inline constexpr const char* kRunHelp = "A run: its id, the first digits of it, its name, latest or latest~N";
inline constexpr const char* kRunsHelp =
    "Runs: their ids, the first digits of them, names, names of sweeps, latest or latest~N";

// Adds --store, and sets `path` to the default.
void add_store_flag(Command& command, std::string& path);

void setup_run(Command& mfl, Commands& commands);
void setup_sweep(Command& mfl, Commands& commands);
void setup_theory_h(Command& theory, Commands& commands);
void setup_theory_run(Command& theory, Commands& commands);
void setup_theory_advise(Command& theory, Commands& commands);
void setup_init(Command& mfl, Commands& commands);
void setup_predict(Command& mfl, Commands& commands);
void setup_evaluate(Command& mfl, Commands& commands);
void setup_model_show(Command& model, Commands& commands);
void setup_model_export(Command& model, Commands& commands);
void setup_data_fetch(Command& data, Commands& commands);
void setup_data_info(Command& data, Commands& commands);
void setup_data_partition(Command& data, Commands& commands);
void setup_data_split(Command& data, Commands& commands);
void setup_reproduce(Command& mfl, Commands& commands);
void setup_study(Command& mfl, Commands& commands);
void setup_report(Command& mfl, Commands& commands);
void setup_server(Command& mfl, Commands& commands);  // these with MFL_NETWORK only
void setup_server_status(Command& server, Commands& commands);
void setup_node(Command& mfl, Commands& commands);
void setup_certs(Command& mfl, Commands& commands);
void setup_demo(Command& mfl, Commands& commands);
void setup_runs_list(Command& runs, Commands& commands);
void setup_runs_show(Command& runs, Commands& commands);
void setup_runs_compare(Command& runs, Commands& commands);
void setup_runs_export(Command& runs, Commands& commands);
void setup_runs_merge(Command& runs, Commands& commands);
void setup_runs_delete(Command& runs, Commands& commands);

void setup_keys(Command& mfl, Commands& commands);
void setup_help(Command& mfl, Commands& commands);
void setup_version(Command& mfl, Commands& commands);
void setup_completion(Command& mfl, Commands& commands);
void setup_man(Command& mfl, Commands& commands);

// The command of that path below `mfl`: {"runs", "export"}.
Result<const Command*> find_command(const Command& mfl, const std::vector<std::string>& words);

// MFL_KERNEL, if set, names kernels that this machine has.
Result<void> check_kernel_choice();

// What --version prints.
std::string version_text(const Commands& commands);

// Everything below `mfl`.
void setup_all(Command& mfl, Commands& commands);

}  // namespace mfl::cli
