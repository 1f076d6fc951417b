// A node's side of the network.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "mfl/base/result.h"
#include "mfl/federation/coordinator.h"
#include "mfl/federation/messages.h"
#include "mfl/network/certs.h"

namespace mfl {

struct ClientOptions {
  std::string server;           // HOST:PORT
  std::optional<TlsFiles> tls;  // absent: plaintext, to loopback only
  std::string name;             // of the node, plaintext only
};

// Why a call failed.
struct CallError {
  Error error;
  bool final = false;  // trying again would not help
};

// How long the upload of an update may take: ten minutes, and more for an update of more than 5 MB, so that it arrives over a
// line of 64 kbit/s. A server that no longer answers is noticed within seconds by other means.
std::chrono::seconds upload_patience(std::uint64_t bytes);

// One connection. Calls block and are made from one thread; cancel() may come from any.
class FederationClient {
 public:
  // Makes no connection yet. kBadConfig for a malformed address and for plaintext beyond loopback.
  static Result<std::unique_ptr<FederationClient>> make(const ClientOptions& options);
  virtual ~FederationClient() = default;

  template <class T>
  using Answer = tl::expected<T, CallError>;

  // `config_digest` of the plan that the node has begun with, or empty.
  virtual Answer<Plan> greet(const std::string& config_digest) = 0;
  // Opens the node's presence; orders are then read with next_order. `max_payload` limits what a task may bring.
  virtual Answer<void> attend(const Joining& joining, std::uint64_t max_payload) = 0;
  // Blocks until there is an order. kEnded when the connection or the session has ended.
  virtual Answer<Order> next_order() = 0;
  // Seconds from the first piece of the last task to its last.
  virtual double arrival_seconds() const = 0;
  virtual Answer<Verdict> submit(const Update& update) = 0;
  // `again`: it will be asked again within seconds, and the server stays for that when the run ends.
  virtual Answer<FederationStatus> watch(bool with_nodes = false, bool again = false) = 0;
  // Of the server, in PEM, once a call has been answered; empty before and without TLS.
  virtual const std::string& server_certificate() const = 0;

  // Ends the call in progress and every later one.
  virtual void cancel() = 0;
};

}  // namespace mfl
