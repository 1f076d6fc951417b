#include "mfl/network/session_thread.h"

#include <chrono>
#include <future>

namespace mfl {

SessionThread::SessionThread(Session& session) : session_(session), thread_([this] { run(); }) {}

SessionThread::~SessionThread() { stop(); }

void SessionThread::post(std::function<void(Session&)> work) {
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    first = posted_.empty();
    posted_.push_back(std::move(work));
  }
  if (first) changed_.notify_one();
}

void SessionThread::wait() {
  auto reached = std::make_shared<std::promise<void>>();
  auto done = reached->get_future();
  post([reached](Session&) { reached->set_value(); });
  reached.reset();
  done.wait();  // a dropped promise is ready, too
}

void SessionThread::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  const std::lock_guard lock(join_mutex_);
  if (thread_.joinable()) thread_.join();
}

void SessionThread::run() {
  constexpr std::chrono::milliseconds kBeat{50};
  auto next_tick = std::chrono::steady_clock::now() + kBeat;
  std::vector<std::function<void(Session&)>> work;
  for (bool stopping = false; !stopping;) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait_until(lock, next_tick, [this] { return stopping_ || !posted_.empty(); });
      work.swap(posted_);
      stopping = stopping_;
    }
    for (const auto& item : work) item(session_);
    work.clear();
    if (std::chrono::steady_clock::now() < next_tick) continue;
    session_.tick();
    next_tick = std::chrono::steady_clock::now() + kBeat;
  }
}

}  // namespace mfl
