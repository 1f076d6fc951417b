#include "mfl/cli/processes.h"

#include <fmt/core.h>

#include "mfl/cli/usage.h"
#include "mfl/engine/mpi/mpi.h"

namespace mfl::cli {

bool Processes::prints() const { return launched_rank().value_or(0) == 0; }

Result<bool> Processes::runs(const Command& command) const {
  const auto found = ways_.find(&command);
  const Way way = found == ways_.end() ? Way::kFirst : found->second;
  if (way != Way::kShared && !prints()) return false;
  if (way != Way::kRefused || !launched_rank()) return true;
  Error error = usage_error(command, "does not share its work over MPI").value();
  error.hint = "run it without mpirun: it uses the cores of one machine";
  return tl::unexpected<Error>(std::move(error));
}

Result<Ranks*> Processes::join(bool always) {
  if (!ranks_ && (always || launched_rank())) {
    MFL_TRY(ranks_, mpi_ranks());
  }
  return ranks_ ? ranks_.get() : &alone();
}

Result<Ranks*> Processes::place(RunConfig& run, bool engine_given) {
  MFL_TRY(Ranks * ranks, join(run.engine == "mpi"));
  if (engine_given && run.engine != "mpi" && ranks->size() > 1)
    MFL_CHECK(
        ranks->agree(fail(ErrorCode::kBadConfig, fmt::format("--engine {} under mpirun", run.engine),
                          "remove it: under mpirun the engine is mpi, with --threads threads per process")));
  if (ranks_) run.engine = "mpi";
  return ranks;
}

int Processes::answer(const Result<Reply>& reply, bool json) {
  if (!reply && ranks_ && ranks_->size() > 1 && !ranks_->failed_together()) {
    Error error = reply.error();
    error.message = fmt::format("rank {}: {}", ranks_->rank(), error.message);
    ranks_->abort(print_error(error, json));
  }
  if (!prints()) return 0;
  return reply ? print_reply(*reply, json) : print_error(reply.error(), json);
}

}  // namespace mfl::cli
