// One connected socket, with TLS or without, that never blocks.
#pragma once

#include <cstddef>
#include <string>

#include "mfl/network/transport/tls.h"

namespace mfl {

// Owns the descriptor. Not thread-safe.
class Channel {
 public:
  enum class Io {
    kDone,       // some bytes moved, or the handshake is complete
    kWantRead,   // wait until the socket can be read
    kWantWrite,  // wait until it can be written
    kClosed,     // the peer has closed
    kFailed,     // see failure()
  };
  struct Moved {
    Io io = Io::kDone;
    std::size_t bytes = 0;
  };

  explicit Channel(int socket, TlsStream tls = nullptr) : socket_(socket), tls_(std::move(tls)) {}
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  ~Channel();

  int socket() const { return socket_; }
  const TlsStream& tls() const { return tls_; }

  // Before anything is read or written. False for a null stream.
  bool start_tls(TlsStream tls) {
    tls_ = std::move(tls);
    return tls_ != nullptr;
  }
  // kDone at once without TLS.
  Io handshake();
  Moved read(char* to, std::size_t most);
  Moved write(const char* from, std::size_t bytes);
  // Decrypted bytes are waiting: the socket itself may not become readable for them.
  bool has_pending() const { return tls_ && SSL_pending(tls_.get()) > 0; }
  // Says that nothing more will be written. The peer can still be read.
  void end_writing();

  const std::string& failure() const { return failure_; }
  // The failure is the peer's refusal of this side's certificate.
  bool refused() const { return refused_; }

 private:
  Io judge(int result);

  int socket_;
  TlsStream tls_;
  std::string failure_;
  bool refused_ = false;
};

}  // namespace mfl
