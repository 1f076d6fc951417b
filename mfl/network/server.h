// A coordinator on the network: gRPC with mutual TLS.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mfl/base/result.h"
#include "mfl/experiment/measure.h"
#include "mfl/federation/coordinator.h"
#include "mfl/network/admission.h"
#include "mfl/network/certs.h"
#include "mfl/network/log.h"

namespace mfl {

struct ServerOptions {
  std::string listen = "127.0.0.1:0";  // port 0: any that is free
  std::optional<TlsFiles> tls;         // absent: plaintext, on loopback only
  AdmissionFiles admission;
  std::uint64_t memory_quota = std::uint64_t{256} << 20U;  // bytes, for messages under way
  std::uint64_t max_connections = 0;  // about; 0: as many as the limit on open files allows
  std::string metrics;                // address of the Prometheus endpoint; empty: none
  bool measure = false;               // keep how long every answer took
  Log log;
};

// What a server that measures has kept: the first million answers.
struct Measurement {
  std::uint64_t asked = 0;  // answers that rounds waited for, those that never came included
  std::vector<MeasuredAnswer> answers;
};

// Owns the transport, its threads and the clock of the coordinator. Safe to use from any thread.
class FederationServer {
 public:
  // The coordinator is used by nobody else from here on. kNetwork when the address cannot be had, kBadConfig for an
  // address without TLS that is not loopback.
  static Result<std::unique_ptr<FederationServer>> start(std::unique_ptr<Coordinator> coordinator, Plan plan,
                                                         ServerOptions options);
  virtual ~FederationServer() = default;

  virtual std::string address() const = 0;  // with the real port
  virtual FederationStatus status() const = 0;
  virtual std::optional<Error> failure() const = 0;
  virtual std::size_t attending() const = 0;  // nodes whose connection is open
  // Nodes that were here when the run ended and have not asked for the status since: that they were sent the end does not
  // mean that they got it.
  virtual std::size_t unaware() const = 0;
  virtual Measurement measured() const = 0;
  // Ends every call and stops listening.
  virtual void stop() = 0;
};

// "127.0.0.1:7443", "[::1]:7443", "localhost:7443".
bool is_loopback(const std::string& address);

}  // namespace mfl
