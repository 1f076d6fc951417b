// What gRPC and protobuf have to say themselves, which they would otherwise write to standard error.
#pragma once

#include "mfl/network/server.h"

namespace mfl {

// Errors of the transport, such as a handshake that failed, go to `log` as event "transport", one of a kind a second; the
// rest is dropped. Holds for the whole process until the next call; an empty log drops everything.
void set_transport_log(Log log);

}  // namespace mfl
