// The first byte is the length that a message may have, the second one selects how the rest is cut.
#include <algorithm>
#include <vector>

#include "mfl/network/transport/framing.h"
#include "tests/fuzz/fuzz.h"

namespace mfl {
namespace {

using Fault = MessageSplitter::Fault;

struct Split {
  std::vector<std::string> messages;
  Fault fault = Fault::kNone;
  std::size_t held = 0;

  bool operator==(const Split&) const = default;
};

Split split(std::string_view stream, std::size_t most, std::size_t piece) {
  MessageSplitter splitter(most);
  Split out;
  for (std::size_t at = 0; at < stream.size(); at += piece) {
    const std::string_view part = stream.substr(at, piece);
    const auto fault = splitter.feed(part, [&](std::string_view message) {
      fuzz::require(out.fault == Fault::kNone, "nothing is taken after a fault");
      out.messages.emplace_back(message);
      return true;
    });
    fuzz::require(out.fault == Fault::kNone || fault == out.fault, "a fault remains");
    fuzz::require(splitter.held() <= std::min(at + part.size(), kPrefixBytes + most),
                  "no more is held than has arrived, nor than a message may have");
    out.fault = fault;
  }
  if (out.fault == Fault::kNone) out.held = splitter.held();
  fuzz::require(out.fault != Fault::kNone || splitter.at_boundary() == (out.held == 0),
                "a boundary is where nothing is held");
  return out;
}

void check_whole(const Split& whole, std::string_view stream, std::size_t most) {
  std::string again;
  for (const std::string& message : whole.messages) {
    fuzz::require(message.size() <= most, "messages are within the limit");
    const auto prefix = message_prefix(message.size());
    again.append(prefix.data(), prefix.size()) += message;
  }
  fuzz::require(stream.starts_with(again), "what was taken is what arrived");
  fuzz::require(whole.fault != Fault::kNone || again.size() + whole.held == stream.size(),
                "what was not taken is held");
}

void check_stop(const Split& whole, std::string_view stream, std::size_t most) {
  if (whole.messages.empty()) return;
  const std::size_t wanted = (whole.messages.size() + 1) / 2;
  std::size_t taken = 0;
  MessageSplitter(most).feed(stream, [&](std::string_view) { return ++taken < wanted; });
  fuzz::require(taken == wanted, "no message follows the last one that is wanted");
}

void check_percent_coding(std::string_view text) {
  const std::string encoded = percent_encoded(text);
  fuzz::require(std::ranges::all_of(encoded, [](char c) { return c >= ' ' && c <= '~'; }),
                "what is encoded is printable");
  fuzz::require(percent_decoded(encoded) == text, "percent_decoded(percent_encoded(x)) == x");
  fuzz::require(percent_decoded(text).size() <= text.size(), "decoding never adds bytes");
}

}  // namespace
}  // namespace mfl

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mfl;
  const auto [most, rest] = fuzz::choice_and_rest(fuzz::view(data, size));
  const auto [piece, stream] = fuzz::choice_and_rest(rest);
  const Split whole = split(stream, most, stream.size() + 1);
  check_whole(whole, stream, most);
  check_stop(whole, stream, most);
  fuzz::require(split(stream, most, 1) == whole && split(stream, most, piece + 1) == whole,
                "messages do not depend on how bytes arrive");
  check_percent_coding(stream);
  return 0;
}
