#include "mfl/run/unfinished.h"

#include <utility>

namespace mfl {

Result<Unfinished> read_unfinished(const Store& store, const std::string& id) {
  Unfinished run{id};
  MFL_TRY(run.checkpoint, store.latest_checkpoint(id));
  if (!run.checkpoint) return run;
  MFL_TRY(const auto rounds, store.rounds(id));
  for (const RoundRow& row : rounds) {
    if (row.round > run.checkpoint->round) break;
    run.bytes_up = row.bytes_up;
    run.bytes_down = row.bytes_down;
    if (row.train_loss) run.losses.push_back({row.round, *row.train_loss});
    if (row.time) run.virtual_seconds = row.time->total_seconds;
  }
  MFL_TRY(const auto records, store.records(id));
  for (const RecordRow& row : records)
    if (row.round <= run.checkpoint->round) run.wall_seconds = row.wall_seconds;
  return run;
}

}  // namespace mfl
