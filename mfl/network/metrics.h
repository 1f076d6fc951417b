// The Prometheus endpoint of a server.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "mfl/base/result.h"
#include "mfl/federation/coordinator.h"

namespace mfl {

// Serves until it is destroyed.
class MetricsEndpoint {
 public:
  virtual ~MetricsEndpoint() = default;
  virtual std::uint16_t port() const = 0;
};

// At http://ADDRESS/metrics, in the text format of Prometheus; see PageServer for what it answers. `status` is called from its thread; series of nodes are those of its node list. kNetwork when the
// address is not available.
Result<std::unique_ptr<MetricsEndpoint>> serve_metrics(const std::string& address,
                                                       std::function<FederationStatus()> status);

}  // namespace mfl
