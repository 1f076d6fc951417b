// A server's record of a round without its final checksums, which the target adds; and the vectors of its state as they
// are sent.
#include "mfl/base/digest.h"
#include "mfl/federation/payload.h"
#include "mfl/federation/round_log.h"
#include "tests/fuzz/fuzz.h"

namespace mfl {
namespace {

constexpr std::size_t kHeader = 24, kMoves = 32, kWord = 8;

// Of the round; the state behind it has a checksum of its own.
std::size_t header_of(std::string_view bytes) {
  const bool counted = bytes.starts_with("MFLROUN3");
  if ((!counted && !bytes.starts_with("MFLROUN2")) || bytes.size() < kMoves + kWord) return kHeader;
  const std::size_t text = kMoves + kWord + kWord * static_cast<unsigned char>(bytes[kMoves]);
  if (!counted || bytes.size() < text + kWord) return text;
  return text + kWord + static_cast<unsigned char>(bytes[text]);
}

constexpr std::size_t kChecksum = 32;

std::string checksum_of(std::string_view bytes, std::string_view more = {}) {
  const auto checksum = Sha256().update(bytes).update(more).finish();
  return {reinterpret_cast<const char*>(checksum.data()), checksum.size()};
}

std::string sealed(std::string_view input) {
  std::string bytes(input);
  const std::size_t header = header_of(input);
  if (bytes.size() > header) bytes += checksum_of(input.substr(header));
  if (bytes.size() < header + kChecksum) return bytes;
  return bytes +
         checksum_of(input.substr(0, header), std::string_view(bytes).substr(bytes.size() - kChecksum));
}

template <class T>
void check_payload(const State<T>& state) {
  std::vector<Vector<T>> vectors;
  std::vector<std::size_t> lengths;
  for (const NamedVector<T>& vector : state.vectors) {
    vectors.push_back(vector.values);
    lengths.push_back(vector.values.size());
  }
  const std::string payload = to_payload(vectors);
  const auto again = from_payload<T>(payload, lengths);
  fuzz::require(again.size() == vectors.size(), "every vector travels");
  fuzz::require(to_payload(again) == payload, "vectors keep their bits");
}

template <class T>
bool check(std::string_view bytes) {
  const auto round = decode_round<T>(bytes);
  if (!round) {
    fuzz::require(round.error().code == ErrorCode::kRunFailed && !round.error().message.empty(),
                  "an error that says why");
    return false;
  }
  fuzz::require(
      encode_round(round->state, round->bytes_up, round->bytes_down, round->history, round->counted) == bytes,
      "encode_round(decode_round(b)) == b");
  check_payload(round->state);
  return true;
}

}  // namespace
}  // namespace mfl

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mfl;
  const std::string_view input = fuzz::view(data, size);
  check<float>(input);
  const std::string bytes = sealed(input);
  fuzz::require(!(check<float>(bytes) && check<double>(bytes)), "a round has one precision");
  return 0;
}
