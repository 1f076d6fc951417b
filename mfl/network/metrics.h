// The Prometheus endpoint of a server.
#pragma once

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
};

// At http://ADDRESS/metrics. `status` is called from its threads; series of nodes are those of its node list. kNetwork when the
// address is not available.
Result<std::unique_ptr<MetricsEndpoint>> serve_metrics(const std::string& address,
                                                       std::function<FederationStatus()> status);

}  // namespace mfl
