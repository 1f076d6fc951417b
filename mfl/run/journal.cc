#include "mfl/run/journal.h"

namespace mfl {

Result<void> Journal::flush(const std::optional<Checkpoint>& checkpoint) {
  MFL_CHECK(recorder_.append(id_, rounds_, records_, checkpoint, nodes_));
  rounds_.clear();
  records_.clear();
  nodes_.clear();
  flushed_ = Clock::now();
  return {};
}

Result<void> Journal::flush_if_due() {
  constexpr std::chrono::milliseconds kInterval{500};
  return Clock::now() - flushed_ < kInterval ? Result<void>{} : flush();
}

}  // namespace mfl
