// The one thread that changes a Session.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "mfl/network/session.h"

namespace mfl {

// Safe to use from any thread.
class SessionThread {
 public:
  // The session outlives it.
  explicit SessionThread(Session& session);
  SessionThread(const SessionThread&) = delete;
  SessionThread& operator=(const SessionThread&) = delete;
  ~SessionThread();  // stops

  // Runs on the thread, in order.
  void post(std::function<void(Session&)> work);
  // Waits until everything that was posted before has run.
  void wait();
  // Runs what was posted and ends the thread; what is posted later is dropped. Idempotent.
  void stop();

 private:
  void run();

  Session& session_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::function<void(Session&)>> posted_;
  bool stopping_ = false;
  std::mutex join_mutex_;
  std::thread thread_;
};

}  // namespace mfl
