// A small HTTP/1.1 server of one page.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "mfl/base/result.h"
#include "mfl/network/address.h"

namespace mfl {

struct PageOptions {
  std::string path = "/metrics";
  std::string content_type = "text/plain; version=0.0.4; charset=utf-8";
  std::size_t most_connections = 64;  // one more closes the one that has been waiting longest
  std::chrono::milliseconds patience{
      5'000};  // for a whole request, and again for the whole response to be taken
};

// Answers GET and HEAD of the path, and closes the connection after one response: 404 for another path, 405 for another method, 400
// for anything that is not a request or is larger than 8 KiB. Connections that say nothing, or are slow, hold up nobody.
class PageServer {
 public:
  // Called from the server's thread, one call at a time. An exception is answered with 500.
  using Page = std::function<std::string()>;

  // Listens on every address of `address` that this machine has; port 0 means any free one. kNetwork when there is none.
  static Result<std::unique_ptr<PageServer>> start(const Address& address, Page page,
                                                   PageOptions options = {});

  virtual ~PageServer() = default;  // closes all connections and waits for a call of the page in progress
  virtual std::uint16_t port() const = 0;
};

}  // namespace mfl
