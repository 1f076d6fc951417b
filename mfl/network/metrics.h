// The Prometheus endpoint of a server.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "mfl/base/result.h"
#include "mfl/federation/coordinator.h"
#include "mfl/network/page_server.h"

namespace mfl {

// At http://ADDRESS/metrics, in the text format of Prometheus; see PageServer for what it answers. `status` is called from its thread; series of nodes are those of its node list. kNetwork when the
// address is not available.
Result<std::unique_ptr<PageServer>> serve_metrics(const std::string& address,
                                                  std::function<FederationStatus()> status);

}  // namespace mfl
