// How bytes of wire.proto become messages. Only wire.cc and wire_stream.cc use it.
#pragma once

#include <fmt/core.h>
#include <google/protobuf/stubs/logging.h>

#include <string_view>

#include "mfl/base/result.h"

namespace mfl::wire {

inline tl::unexpected<Error> malformed(std::string_view what) {
  return fail(ErrorCode::kNetwork, fmt::format("the peer sent a malformed message: {}", what),
              "check that server and node have the same mfl");
}

template <class Message>
Result<Message> parse(std::string_view bytes) {
  static const bool quiet =
      (google::protobuf::SetLogHandler(nullptr), true);  // the error says what went wrong
  (void)quiet;
  Message message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return malformed(fmt::format("not a {}", message.GetTypeName()));
  return message;
}

}  // namespace mfl::wire
