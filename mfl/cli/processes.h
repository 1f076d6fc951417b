// Commands that mpirun started as several processes: which of them do what, and which of them prints. Without mpirun there is one.
#pragma once

#include <map>
#include <memory>

#include "mfl/base/result.h"
#include "mfl/cli/command.h"
#include "mfl/cli/reply.h"
#include "mfl/config/config.h"
#include "mfl/engine/ranks.h"

namespace mfl::cli {

// Not thread-safe.
class Processes {
 public:
  // Of a command that is neither, the first process does the work and the others exit.
  void share(const Command& command) { ways_[&command] = Way::kShared; }  // all of them do the work
  void refuse(const Command& command) {
    ways_[&command] = Way::kRefused;
  }  // it is long and only one would do it

  // Whether this one prints. The others exit with 0 where they would print.
  bool prints() const;
  // False: the command is not for this one. kBadConfig if it is refused.
  Result<bool> runs(const Command& command) const;

  // For a shared command, what it reads before anything else: either all processes succeed or all fail.
  template <class Read>
  auto read(const Read& read) -> decltype(read()) {
    MFL_TRY(Ranks * all, join(false));
    return all->agreed(read());
  }
  // For a shared command: where it trains. Sets the engine to mpi if there are several processes or it was asked for;
  // kBadConfig if another one was.
  Result<Ranks*> place(RunConfig& run, bool engine_given);
  Result<Ranks*> place() { return join(false); }

  // Prints for all and returns the exit code. If this process alone failed, it prints and ends the others.
  int answer(const Result<Reply>& reply, bool json);

 private:
  enum class Way { kFirst, kShared, kRefused };
  Result<Ranks*> join(bool always);

  std::map<const Command*, Way> ways_;
  std::unique_ptr<Ranks> ranks_;  // once a command has joined
};

}  // namespace mfl::cli
