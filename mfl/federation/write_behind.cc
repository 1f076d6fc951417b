#include "mfl/federation/write_behind.h"

#include <utility>

namespace mfl {

WriteBehind::WriteBehind(RoundLog& inner)
    : inner_(inner), last_test_(inner.last_test()), thread_([this] { run(); }) {}

WriteBehind::~WriteBehind() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void WriteBehind::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return pending_ || stopping_; });
    if (!pending_) return;
    lock.unlock();
    auto kept = inner_.commit(*pending_);
    lock.lock();
    if (kept)
      durable_ = pending_->round;
    else
      failure_ = std::move(kept).error();
    last_test_ = inner_.last_test();
    pending_.reset();
    changed_.notify_all();
  }
}

Result<void> WriteBehind::wait(std::unique_lock<std::mutex>& lock) {
  changed_.wait(lock, [this] { return !pending_; });
  if (failure_) return tl::unexpected<Error>(*failure_);
  return {};
}

Result<void> WriteBehind::commit(const CommittedRound& round) {
  CommittedRound copy = round;
  return take(copy);
}

Result<void> WriteBehind::take(CommittedRound& round) {
  std::unique_lock lock(mutex_);
  MFL_CHECK(wait(lock));
  if (!durable_) durable_ = round.round - 1;
  std::string blob = std::exchange(round.blob, {});
  pending_ = round;
  pending_->blob = std::move(blob);
  changed_.notify_all();
  return {};
}

Result<void> WriteBehind::finish(const Ending& ending) {
  MFL_CHECK(flush());
  MFL_CHECK(inner_.finish(ending));
  const std::lock_guard lock(mutex_);
  last_test_ = inner_.last_test();
  return {};
}

Result<void> WriteBehind::prepare(const std::string& data_schema, double eta) {
  MFL_CHECK(flush());
  return inner_.prepare(data_schema, eta);
}

Result<void> WriteBehind::flush() {
  std::unique_lock lock(mutex_);
  return wait(lock);
}

std::optional<std::uint64_t> WriteBehind::durable() const {
  const std::lock_guard lock(mutex_);
  return durable_;
}

std::optional<TestRow> WriteBehind::last_test() const {
  const std::lock_guard lock(mutex_);
  return last_test_;
}

}  // namespace mfl
