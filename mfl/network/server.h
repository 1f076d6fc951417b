// A coordinator on the network: gRPC over HTTP/2 with mutual TLS.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mfl/base/result.h"
#include "mfl/devices/measure.h"
#include "mfl/federation/coordinator.h"
#include "mfl/network/admission.h"
#include "mfl/network/certs.h"
#include "mfl/network/log.h"

namespace mfl {

struct ServerOptions {
  std::string listen = "127.0.0.1:0";  // port 0: any free one
  std::optional<TlsFiles> tls;         // absent: plaintext, on loopback only
  AdmissionFiles admission;
  std::uint64_t memory_quota = std::uint64_t{256} << 20U;  // bytes, for messages in transit
  std::uint64_t max_connections = 0;  // 0: as many as the quota and the limit on open files allow
  std::string metrics;                // address of the Prometheus endpoint; empty: none
  bool measure = false;               // keep how long every answer took
  // Of the federation. With an allow list a round needs as many of them as the lists still admit, in place of the coordinator's
  // min_available_nodes; 0: the coordinator's number stays.
  std::size_t nodes = 0;
  std::optional<std::int64_t> certificate_expires;  // set by start() from `tls`: Unix time in seconds
  Log log;
};

// The first million answers to a server that measures.
struct Measurement {
  std::uint64_t asked = 0;  // answers that rounds waited for, those that never came included
  std::vector<MeasuredAnswer> answers;
};

// Owns the transport, its threads and the clock of the coordinator. Safe to use from any thread.
class FederationServer {
 public:
  // Nobody else uses the coordinator from here on. kNetwork when the address is not available, kBadConfig for an
  // address without TLS that is not loopback.
  static Result<std::unique_ptr<FederationServer>> start(std::unique_ptr<Coordinator> coordinator, Plan plan,
                                                         ServerOptions options);
  virtual ~FederationServer() = default;

  virtual std::string address() const = 0;  // with the real port
  virtual FederationStatus status(bool with_nodes = false) const = 0;
  virtual std::optional<Error> failure() const = 0;
  virtual std::size_t attending() const = 0;  // nodes whose connection is open
  // Nodes that were connected when the run ended and have not asked for the status since: the message that told them may not have
  // arrived.
  virtual std::size_t unaware() const = 0;
  virtual Measurement measured() const = 0;
  // Stops listening and ends every call. Once it has returned nothing is counted or committed, and the status stays as it is.
  virtual void close() = 0;
  // Closes, and waits up to half a second for the calls in progress.
  virtual void stop() = 0;
};

}  // namespace mfl
