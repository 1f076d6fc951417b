// How bytes of wire.proto become messages. Only wire.cc and wire_stream.cc use it.
#pragma once

#include <fmt/core.h>
#include <google/protobuf/stubs/logging.h>

#include <string_view>

#include "mfl/algorithm/losses.h"
#include "mfl/base/result.h"

// One field from a value to its message `out`, and from a `message` to its value `out`, which have it under one name.
#define MFL_TO_WIRE(field) out.set_##field(value.field);
#define MFL_FROM_WIRE(field) out.field = message.field();
#define MFL_OPTIONAL_TO_WIRE(field) \
  if (value.field) out.set_##field(*value.field);
#define MFL_OPTIONAL_FROM_WIRE(field) \
  if (message.has_##field()) out.field = message.field();
#define MFL_LOSSES(F) F(train_loss) F(batch_loss) F(start_loss)

namespace mfl::wire {

inline tl::unexpected<Error> malformed(std::string_view what) {
  return fail(ErrorCode::kNetwork, fmt::format("the peer sent a malformed message: {}", what),
              "check that server and node have the same mfl");
}

// Of a message that has the three of them.
template <class Message>
void losses_to_wire(const Losses& value, Message& out) {
  MFL_LOSSES(MFL_OPTIONAL_TO_WIRE)
}

template <class Message>
Losses losses_from_wire(const Message& message) {
  Losses out;
  MFL_LOSSES(MFL_OPTIONAL_FROM_WIRE)
  return out;
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
