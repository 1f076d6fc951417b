#include "mfl/network/transport/channel.h"

#include <openssl/err.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

namespace mfl {
namespace {

int as_int(std::size_t bytes) {
  return static_cast<int>(std::min<std::size_t>(bytes, std::numeric_limits<int>::max()));
}

}  // namespace

Channel::~Channel() {
  tls_.reset();
  ::close(socket_);
}

Channel::Io Channel::judge(int result) {
  switch (SSL_get_error(tls_.get(), result)) {
    case SSL_ERROR_WANT_READ: return Io::kWantRead;
    case SSL_ERROR_WANT_WRITE: return Io::kWantWrite;
    case SSL_ERROR_ZERO_RETURN: return Io::kClosed;
    case SSL_ERROR_SYSCALL:
      failure_ = errno != 0 ? std::strerror(errno) : "the connection was closed";
      ERR_clear_error();
      return Io::kFailed;
    default: break;
  }
  const long verified = SSL_get_verify_result(tls_.get());
  refused_ = tls_refused();
  failure_ = tls_error();
  switch (verified) {
    case X509_V_OK: break;
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
      failure_ = "the peer's certificate is of another authority than that of ca.pem here";
      break;
    default: failure_ = std::string("the peer's certificate: ") + X509_verify_cert_error_string(verified);
  }
  return Io::kFailed;
}

Channel::Io Channel::handshake() {
  if (!tls_) return Io::kDone;
  ERR_clear_error();
  errno = 0;
  const int result = SSL_do_handshake(tls_.get());
  return result == 1 ? Io::kDone : judge(result);
}

Channel::Moved Channel::read(char* to, std::size_t most) {
  if (tls_) {
    ERR_clear_error();
    errno = 0;
    const int count = SSL_read(tls_.get(), to, as_int(most));
    if (count > 0) return {Io::kDone, static_cast<std::size_t>(count)};
    return {judge(count), 0};
  }
  const ssize_t count = ::recv(socket_, to, most, 0);
  if (count > 0) return {Io::kDone, static_cast<std::size_t>(count)};
  if (count == 0) return {Io::kClosed, 0};
  if (errno == EAGAIN || errno == EINTR) return {Io::kWantRead, 0};
  failure_ = std::strerror(errno);
  return {Io::kFailed, 0};
}

Channel::Moved Channel::write(const char* from, std::size_t bytes) {
  if (tls_) {
    ERR_clear_error();
    errno = 0;
    const int count = SSL_write(tls_.get(), from, as_int(bytes));
    if (count > 0) return {Io::kDone, static_cast<std::size_t>(count)};
    return {judge(count), 0};
  }
  const ssize_t count = ::send(socket_, from, bytes, MSG_NOSIGNAL);
  if (count >= 0) return {Io::kDone, static_cast<std::size_t>(count)};
  if (errno == EAGAIN || errno == EINTR) return {Io::kWantWrite, 0};
  failure_ = std::strerror(errno);
  return {Io::kFailed, 0};
}

void Channel::end_writing() {
  if (tls_ && SSL_is_init_finished(tls_.get()) == 1) {
    ERR_clear_error();
    SSL_shutdown(tls_.get());
  }
  ::shutdown(socket_, SHUT_WR);
}

}  // namespace mfl
