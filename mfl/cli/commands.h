// The subcommands. Each lives in a file of its own: an options struct, a setup function and what it runs.
#pragma once

#include <CLI/App.hpp>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "mfl/cli/reply.h"
#include "mfl/engine/ranks.h"
#include "mfl/record/store.h"

namespace mfl::cli {

// What a subcommand does when mpirun starts it several times.
enum class UnderMpi {
  kFirst,    // the first process does it, the others nothing
  kShared,   // all of them work on it together
  kRefused,  // long work that one process alone would do, which is not what the user expects
};

// What to do for the subcommand that was named.
struct Commands {
  using Action = std::function<Result<Reply>()>;

  bool json = false;
  std::map<const CLI::App*, Action> actions;
  std::map<const CLI::App*, UnderMpi> under_mpi;  // kFirst where nothing is said
  std::unique_ptr<Ranks> ranks;                   // once a command has joined them

  // For a command that is kShared: joins the processes that mpirun started, or a group of one where the engine mpi is asked
  // for without it. This process alone otherwise.
  Result<Ranks*> join(bool engine_is_mpi);

  // A subcommand with --json and a worked example under its help.
  CLI::App& add(CLI::App& parent, const std::string& name, const std::string& help,
                const std::string& example, Action action);
};

// The store that is there already, for reading. One that is not there is an error that says how to make it.
Result<Store> open_store(const std::string& path, bool read_only = true);

// --store on a subcommand that uses the run store; the default is in `path` already.
void add_store_flag(CLI::App& command, std::string& path);

void setup_run(CLI::App& mfl, Commands& commands);
void setup_sweep(CLI::App& mfl, Commands& commands);
void setup_theory_h(CLI::App& theory, Commands& commands);
void setup_theory_run(CLI::App& theory, Commands& commands);
void setup_theory_advise(CLI::App& theory, Commands& commands);
void setup_data_fetch(CLI::App& data, Commands& commands);
void setup_data_info(CLI::App& data, Commands& commands);
void setup_data_split(CLI::App& data, Commands& commands);
void setup_reproduce(CLI::App& mfl, Commands& commands);
void setup_report(CLI::App& mfl, Commands& commands);
void setup_server(CLI::App& mfl, Commands& commands);  // these four with MFL_NETWORK only
void setup_node(CLI::App& mfl, Commands& commands);
void setup_certs(CLI::App& mfl, Commands& commands);
void setup_demo(CLI::App& mfl, Commands& commands);
void setup_runs_list(CLI::App& runs, Commands& commands);
void setup_runs_show(CLI::App& runs, Commands& commands);
void setup_runs_compare(CLI::App& runs, Commands& commands);
void setup_runs_export(CLI::App& runs, Commands& commands);
void setup_runs_delete(CLI::App& runs, Commands& commands);

// MFL_KERNEL, if set, names kernels that this machine has.
Result<void> check_kernel_choice();

// Everything below `mfl`.
void setup_all(CLI::App& mfl, Commands& commands);

}  // namespace mfl::cli
