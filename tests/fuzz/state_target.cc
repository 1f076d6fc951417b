// The input is a checkpoint without its final checksum, which the target adds: damage behind a valid checksum.
#include "mfl/base/digest.h"
#include "mfl/record/checkpoint.h"
#include "tests/fuzz/fuzz.h"

namespace mfl {
namespace {

template <class T>
bool check(std::string_view bytes) {
  const auto state = decode_state<T>(bytes);
  if (!state) {
    fuzz::require(state.error().code == ErrorCode::kRunFailed && !state.error().message.empty(),
                  "an error that says why");
    return false;
  }
  fuzz::require(!state->vectors.empty(), "a state has vectors");
  fuzz::require(encode_state(*state) == bytes, "encode_state(decode_state(b)) == b");
  return true;
}

}  // namespace
}  // namespace mfl

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mfl;
  std::string bytes(fuzz::view(data, size));
  check<float>(bytes);
  const auto checksum = Sha256().update(bytes).finish();
  bytes.append(reinterpret_cast<const char*>(checksum.data()), checksum.size());
  fuzz::require(!(check<float>(bytes) && check<double>(bytes)), "a state has one precision");
  return 0;
}
