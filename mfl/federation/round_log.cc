#include "mfl/federation/round_log.h"

#include "mfl/base/digest.h"
#include "mfl/record/checkpoint.h"

namespace mfl {
namespace {

constexpr std::string_view kMagic = "MFLROUND";
constexpr std::size_t kHeader = kMagic.size() + 2 * sizeof(std::uint64_t);
constexpr std::size_t kTrailer = 32;

void put(std::string& out, std::uint64_t number) {
  for (unsigned i = 0; i < 8; ++i) out += static_cast<char>(static_cast<unsigned char>(number >> (8 * i)));
}

std::uint64_t take(std::string_view bytes) {
  std::uint64_t number = 0;
  for (unsigned i = 0; i < 8; ++i) number |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  return number;
}

// Of the header and of the state's own checksum.
std::string checksum(std::string_view body) {
  const auto digest =
      Sha256().update(body.substr(0, kHeader)).update(body.substr(body.size() - kTrailer)).finish();
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

}  // namespace

template <class T>
std::string encode_round(const State<T>& state, std::uint64_t bytes_up, std::uint64_t bytes_down) {
  std::string out;
  out.reserve(kHeader + encoded_size(state) + kTrailer);
  out += kMagic;
  put(out, bytes_up);
  put(out, bytes_down);
  append_state(out, state);
  out += checksum(out);
  return out;
}

template <class T>
Result<Resumption<T>> decode_round(std::string_view bytes) {
  constexpr const char* kHint = "start a new run in another state folder";
  if (!bytes.starts_with(kMagic) || bytes.size() < kHeader + 2 * kTrailer)
    return fail(ErrorCode::kRunFailed, "round is damaged: it does not begin with MFLROUND or is cut short",
                kHint);
  const std::string_view body = bytes.substr(0, bytes.size() - kTrailer);
  if (checksum(body) != bytes.substr(body.size()))
    return fail(ErrorCode::kRunFailed, "round is damaged: its bytes do not match their checksum", kHint);
  Resumption<T> out;
  out.bytes_up = take(bytes.substr(kMagic.size()));
  out.bytes_down = take(bytes.substr(kMagic.size() + 8));
  MFL_TRY(out.state, decode_state<T>(body.substr(kHeader)));
  return out;
}

template std::string encode_round(const State<float>&, std::uint64_t, std::uint64_t);
template std::string encode_round(const State<double>&, std::uint64_t, std::uint64_t);
template Result<Resumption<float>> decode_round(std::string_view);
template Result<Resumption<double>> decode_round(std::string_view);

}  // namespace mfl
