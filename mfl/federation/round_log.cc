#include "mfl/federation/round_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "mfl/base/digest.h"
#include "mfl/record/checkpoint.h"

namespace mfl {
namespace {

constexpr std::string_view kMagic = "MFLROUND", kMagicWithHistory = "MFLROUN2";
constexpr std::size_t kWord = sizeof(std::uint64_t);
constexpr std::size_t kHeader = kMagic.size() + 2 * kWord;  // without a history
constexpr std::size_t kMostMoves = 64;
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
std::string checksum(std::string_view body, std::size_t header) {
  const auto digest =
      Sha256().update(body.substr(0, header)).update(body.substr(body.size() - kTrailer)).finish();
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

}  // namespace

template <class T>
std::string encode_round(const State<T>& state, std::uint64_t bytes_up, std::uint64_t bytes_down,
                         const SizeHistory& history) {
  std::string out;
  out.reserve(kHeader + (2 + history.moves.size()) * kWord + encoded_size(state) + kTrailer);
  out += history.moves.empty() ? kMagic : kMagicWithHistory;
  put(out, bytes_up);
  put(out, bytes_down);
  if (!history.moves.empty()) {
    put(out, std::bit_cast<std::uint64_t>(history.loss));
    put(out, history.moves.size());
    for (const double move : history.moves) put(out, std::bit_cast<std::uint64_t>(move));
  }
  const std::size_t header = out.size();
  append_state(out, state);
  out += checksum(out, header);
  return out;
}

template <class T>
Result<Resumption<T>> decode_round(std::string_view bytes) {
  const auto damaged = [](std::string_view how) {
    return fail(ErrorCode::kRunFailed, fmt::format("round is damaged: {}", how),
                "start a new run in another state folder");
  };
  const bool has_history = bytes.starts_with(kMagicWithHistory);
  if ((!has_history && !bytes.starts_with(kMagic)) || bytes.size() < kHeader + 2 * kTrailer)
    return damaged("it does not begin with MFLROUND or is cut short");
  const std::string_view body = bytes.substr(0, bytes.size() - kTrailer);
  const auto word = [&](std::size_t number) { return take(bytes.substr(kMagic.size() + number * kWord)); };
  std::size_t header = kHeader;
  if (has_history) {
    const std::uint64_t moves = word(3);
    header += 2 * kWord + std::min<std::uint64_t>(moves, kMostMoves) * kWord;
    if (moves == 0 || moves > kMostMoves || body.size() < header + kTrailer)
      return damaged("its history does not fit");
  }
  if (checksum(body, header) != bytes.substr(body.size()))
    return damaged("its bytes do not match their checksum");
  Resumption<T> out;
  out.bytes_up = word(0);
  out.bytes_down = word(1);
  if (has_history) {
    out.history.loss = std::bit_cast<double>(word(2));
    for (std::size_t i = 0; i < word(3); ++i) out.history.moves.push_back(std::bit_cast<double>(word(4 + i)));
  }
  MFL_TRY(out.state, decode_state<T>(body.substr(header)));
  return out;
}

template std::string encode_round(const State<float>&, std::uint64_t, std::uint64_t, const SizeHistory&);
template std::string encode_round(const State<double>&, std::uint64_t, std::uint64_t, const SizeHistory&);
template Result<Resumption<float>> decode_round(std::string_view);
template Result<Resumption<double>> decode_round(std::string_view);

}  // namespace mfl
