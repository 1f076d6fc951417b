// How bytes of wire.proto become messages. Only wire.cc and wire_stream.cc use it.
#pragma once

#include <fmt/core.h>
#include <google/protobuf/stubs/logging.h>

#include <string_view>

#include "mfl/algorithm/losses.h"
#include "mfl/base/result.h"

namespace mfl::wire {

inline tl::unexpected<Error> malformed(std::string_view what) {
  return fail(ErrorCode::kNetwork, fmt::format("the peer sent a malformed message: {}", what),
              "check that server and node have the same mfl");
}

// Of a message that has the three of them.
template <class Message>
void losses_to_wire(const Losses& losses, Message& out) {
  if (losses.train_loss) out.set_train_loss(*losses.train_loss);
  if (losses.batch_loss) out.set_batch_loss(*losses.batch_loss);
  if (losses.start_loss) out.set_start_loss(*losses.start_loss);
}

template <class Message>
Losses losses_from_wire(const Message& message) {
  Losses out;
  if (message.has_train_loss()) out.train_loss = message.train_loss();
  if (message.has_batch_loss()) out.batch_loss = message.batch_loss();
  if (message.has_start_loss()) out.start_loss = message.start_loss();
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
