// The calls of wire.proto as a few lines each onto the desk.
#pragma once

#include <grpcpp/impl/service_type.h>

#include <memory>

#include "mfl/network/desk.h"

namespace mfl {

// The desk must outlive it.
std::unique_ptr<grpc::Service> make_service(Desk& desk);

}  // namespace mfl
