// The connection to one trainer: a program of the user's on the other end of a Unix stream socket (docs/trainer.md).
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "mfl/base/json.h"
#include "mfl/base/result.h"

namespace mfl {

// A header, and a body that need not be in one piece of memory.
struct TrainerRequest {
  Json header;
  std::span<const std::string_view> body = {};
};

struct TrainerReply {
  Json header;
  std::string_view body = {};  // valid until the next call
};

struct CallLimits {
  std::chrono::milliseconds deadline{0};  // for the request and its reply
  std::size_t most_body = 0;              // bytes of the reply's body
  std::function<void()> poll =
      {};  // called several times a second while waiting; what it throws ends the call
};

// Owns the socket and, where it has started one, the process, which ends with it. Not thread-safe.
class TrainerLink {
 public:
  // "unix:PATH", where a trainer listens, or a command, which is started with sh. Does not connect.
  explicit TrainerLink(std::string spec) : spec_(std::move(spec)) {}
  TrainerLink(TrainerLink&& other) noexcept;
  TrainerLink& operator=(TrainerLink&&) = delete;
  ~TrainerLink();

  static bool is_socket(std::string_view spec) { return spec.starts_with("unix:"); }
  const std::string& spec() const { return spec_; }
  bool connected() const { return socket_ >= 0; }

  // Starts the command, or connects to the socket, which may take until the deadline to appear.
  Result<void> connect(std::chrono::milliseconds deadline, const std::function<void()>& poll);

  // Sends a request and gets its reply. kNetwork where the trainer died, hung up or did not answer in time: the link is then closed, and the call
  // can be repeated after connect(). Any other error is the trainer's answer, or bytes that are none.
  Result<TrainerReply> call(const TrainerRequest& request, const CallLimits& limits);

  // Asks it to stop, and sees that it does.
  void close();

 private:
  class Wait;

  Result<void> start();
  Result<void> send(std::string_view bytes, Wait& wait);
  Result<void> receive(char* to, std::size_t size, Wait& wait);
  Result<TrainerReply> exchange(const TrainerRequest& request, const CallLimits& limits);
  // Why a connection was lost, as far as the process tells.
  std::string obituary();
  void drop();

  std::string spec_;
  int socket_ = -1;
  pid_t process_ = -1;  // the leader of its group; -1: none
  // Of the last reply. New memory for every reply of a large model would cost more than reading it.
  std::string body_;
};

}  // namespace mfl
