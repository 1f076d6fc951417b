#include "mfl/external/link.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

namespace mfl {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostHeader = std::size_t{16} << 20U;
constexpr std::size_t kPrefix = sizeof(std::uint32_t) + sizeof(std::uint64_t);
constexpr std::chrono::milliseconds kTick{50};
constexpr const char* kSocketVariable = "MFL_TRAINER_FD";

std::string reason(int error) { return std::strerror(error); }  // NOLINT(concurrency-mt-unsafe)

tl::unexpected<Error> lost(std::string what) { return fail(ErrorCode::kNetwork, std::move(what)); }
tl::unexpected<Error> wrong(std::string what) { return fail(ErrorCode::kRunFailed, std::move(what)); }

void make_non_blocking(int socket) { ::fcntl(socket, F_SETFL, ::fcntl(socket, F_GETFL) | O_NONBLOCK); }

// The environment of this process with the number of the trainer's socket.
std::vector<std::string> environment_with(int socket) {
  std::vector<std::string> out;
  const std::string prefix = fmt::format("{}=", kSocketVariable);
  for (char** entry = environ; *entry != nullptr; ++entry)
    if (!std::string_view(*entry).starts_with(prefix)) out.emplace_back(*entry);
  out.push_back(fmt::format("{}{}", prefix, socket));
  return out;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

// `sh -c command` in a process group of its own, so that Ctrl-C reaches mfl alone. The socket keeps its number; standard output goes to
// standard error.
int spawn_shell(const std::string& command, int socket, pid_t& process) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, socket, socket);  // clears close-on-exec
  posix_spawnattr_init(&attributes);
  sigset_t none, defaults;
  sigemptyset(&none);
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGPIPE);
  sigaddset(&defaults, SIGXFSZ);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::vector<std::string> words = {"sh", "-c", command}, variables = environment_with(socket);
  const int error = ::posix_spawnp(&process, "sh", &actions, &attributes, pointers(words).data(),
                                   pointers(variables).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

std::string exit_text(int status) {
  if (WIFSIGNALED(status)) return fmt::format("was killed by signal {}", WTERMSIG(status));
  return fmt::format("exited with code {}", WEXITSTATUS(status));
}

std::string length_prefix(std::size_t header, std::size_t body) {
  const auto first = static_cast<std::uint32_t>(header);
  const std::uint64_t second = body;
  std::string out(kPrefix, '\0');
  std::memcpy(out.data(), &first, sizeof first);
  std::memcpy(out.data() + sizeof first, &second, sizeof second);
  return out;
}

}  // namespace

// The time that a call has.
class TrainerLink::Wait {
 public:
  Wait(std::chrono::milliseconds limit, const std::function<void()>& poll)
      : limit_(limit), until_(Clock::now() + limit), poll_(poll) {}

  // Until the socket is ready, or kNetwork.
  Result<void> for_event(int socket, short events) {
    for (;;) {
      if (poll_) poll_();
      pollfd waiting{socket, events, 0};
      const int ready = ::poll(&waiting, 1, static_cast<int>(kTick.count()));
      if (ready > 0) return {};
      if (ready < 0 && errno != EINTR) return lost(fmt::format("the socket failed: {}", reason(errno)));
      if (Clock::now() >= until_)
        return lost(
            fmt::format("did not answer within {:g} s", std::chrono::duration<double>(limit_).count()));
    }
  }

 private:
  std::chrono::milliseconds limit_;
  Clock::time_point until_;
  const std::function<void()>& poll_;
};

TrainerLink::TrainerLink(TrainerLink&& other) noexcept
    : spec_(std::move(other.spec_)),
      socket_(std::exchange(other.socket_, -1)),
      process_(std::exchange(other.process_, -1)) {}

TrainerLink::~TrainerLink() { close(); }

Result<void> TrainerLink::start() {
  std::array<int, 2> ends = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return wrong(fmt::format("no socket for it: {}", reason(errno)));
  const int error = spawn_shell(spec_, ends[1], process_);
  ::close(ends[1]);
  if (error != 0) {
    ::close(ends[0]);
    process_ = -1;
    return wrong(fmt::format("cannot be started: {}", reason(error)));
  }
  socket_ = ends[0];
  return {};
}

Result<void> TrainerLink::connect(std::chrono::milliseconds deadline, const std::function<void()>& poll) {
  if (!is_socket(spec_)) {
    MFL_CHECK(start());
    make_non_blocking(socket_);
    return {};
  }
  const std::string path = spec_.substr(spec_.find(':') + 1);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path)
    return fail(ErrorCode::kBadConfig,
                fmt::format("the path of a socket has 1 to {} bytes", sizeof address.sun_path - 1));
  std::memcpy(address.sun_path, path.data(), path.size());
  const auto until = Clock::now() + deadline;
  for (;;) {
    if (poll) poll();
    socket_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (socket_ < 0) return wrong(fmt::format("no socket for it: {}", reason(errno)));
    if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) break;
    const int error = errno;
    drop();
    if (Clock::now() >= until) return lost(fmt::format("nobody listens there: {}", reason(error)));
    std::this_thread::sleep_for(kTick);
  }
  make_non_blocking(socket_);
  return {};
}

Result<void> TrainerLink::send(std::string_view bytes, Wait& wait) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      MFL_CHECK(wait.for_event(socket_, POLLOUT));
    } else if (errno != EINTR) {
      return lost(obituary());
    }
  }
  return {};
}

Result<void> TrainerLink::receive(char* to, std::size_t size, Wait& wait) {
  while (size > 0) {
    const ssize_t got = ::recv(socket_, to, size, 0);
    if (got > 0) {
      to += got;
      size -= static_cast<std::size_t>(got);
    } else if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      MFL_CHECK(wait.for_event(socket_, POLLIN));
    } else if (got == 0 || errno != EINTR) {
      return lost(obituary());
    }
  }
  return {};
}

std::string TrainerLink::obituary() {
  constexpr int kPatience = 20;  // ticks: the socket closes before the process is gone
  for (int i = 0; process_ > 0 && i < kPatience; ++i) {
    int status = 0;
    if (::waitpid(process_, &status, WNOHANG) == process_) {
      ::kill(-process_, SIGKILL);
      process_ = -1;
      return exit_text(status);
    }
    std::this_thread::sleep_for(kTick);
  }
  return "closed the connection";
}

Result<TrainerReply> TrainerLink::exchange(const TrainerRequest& request, const CallLimits& limits) {
  Wait wait(limits.deadline, limits.poll);
  const std::string header = request.header.dump();
  std::size_t body = 0;
  for (const std::string_view piece : request.body) body += piece.size();
  MFL_CHECK(send(length_prefix(header.size(), body) + header, wait));
  for (const std::string_view piece : request.body) MFL_CHECK(send(piece, wait));

  std::array<char, kPrefix> prefix{};
  MFL_CHECK(receive(prefix.data(), prefix.size(), wait));
  std::uint32_t header_size = 0;
  std::uint64_t body_size = 0;
  std::memcpy(&header_size, prefix.data(), sizeof header_size);
  std::memcpy(&body_size, prefix.data() + sizeof header_size, sizeof body_size);
  if (header_size > kMostHeader)
    return wrong(fmt::format("sent a header of {} bytes, at most {} are allowed", header_size, kMostHeader));
  if (body_size > limits.most_body)
    return wrong(
        fmt::format("sent {} bytes of vectors, at most {} were expected", body_size, limits.most_body));
  std::string text(header_size, '\0');
  TrainerReply reply;
  MFL_CHECK(receive(text.data(), text.size(), wait));
  body_.resize(body_size);
  MFL_CHECK(receive(body_.data(), body_.size(), wait));
  reply.body = body_;
  auto parsed = Json::parse(text);
  if (!parsed && (text.find("NaN") != std::string::npos || text.find("Infinity") != std::string::npos))
    return wrong("sent NaN or Infinity, which JSON does not have: send null for a number that is not finite");
  if (!parsed || !parsed->is_object()) return wrong("sent a header that is not a JSON object");
  reply.header = *std::move(parsed);
  return reply;
}

Result<TrainerReply> TrainerLink::call(const TrainerRequest& request, const CallLimits& limits) {
  Result<TrainerReply> reply = fail(ErrorCode::kNetwork, "");
  try {
    reply = exchange(request, limits);
  } catch (...) {  // of limits.poll: the frame is left unfinished
    drop();
    throw;
  }
  if (!reply) {
    drop();
    return reply;
  }
  const Json* const message = reply->header.find("message");
  if (message != nullptr && message->text() == "error") {
    const Json* const text = reply->header.find("text");
    return wrong(fmt::format("says: {}", text == nullptr ? "" : text->text()));
  }
  return reply;
}

// Ends the process without asking.
void TrainerLink::drop() {
  if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  if (process_ <= 0) return;
  ::kill(-process_, SIGKILL);
  while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) continue;
  process_ = -1;
}

void TrainerLink::close() {
  if (socket_ < 0) return drop();
  const std::string header = Json({{"message", "stop"}}).dump();
  const std::string frame = length_prefix(header.size(), 0) + header;
  (void)::send(socket_, frame.data(), frame.size(), MSG_NOSIGNAL);
  ::close(std::exchange(socket_, -1));
  constexpr int kPatience = 60;  // ticks
  for (int i = 0; process_ > 0 && i < kPatience; ++i) {
    if (::waitpid(process_, nullptr, WNOHANG) != 0) {
      ::kill(-process_, SIGKILL);  // whatever it has left behind
      process_ = -1;
    } else {
      std::this_thread::sleep_for(kTick);
    }
  }
  drop();
}

}  // namespace mfl
