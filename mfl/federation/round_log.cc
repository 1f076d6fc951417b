#include "mfl/federation/round_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>

#include "mfl/base/digest.h"
#include "mfl/record/checkpoint.h"

namespace mfl {
namespace {

constexpr std::string_view kMagic = "MFLROUND", kMagicWithHistory = "MFLROUN2",
                           kMagicWithCounted = "MFLROUN3", kMagicWithTerms = "MFLROUN4";
constexpr std::size_t kWord = sizeof(std::uint64_t);
constexpr std::size_t kHeader = kMagic.size() + 2 * kWord;  // without a history
constexpr std::size_t kMostMoves = 64;
constexpr std::size_t kTrailer = 32;

void append_word(std::string& out, std::uint64_t number) {
  for (unsigned i = 0; i < 8; ++i) out += static_cast<char>(static_cast<unsigned char>(number >> (8 * i)));
}

std::uint64_t take(std::string_view bytes) {
  std::uint64_t number = 0;
  for (unsigned i = 0; i < 8; ++i) number |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  return number;
}

using TermWords = std::array<std::uint64_t, 15>;
constexpr std::uint64_t kHasChoice = 1, kHasTime = 2;

TermWords words_of(const RoundTerms& terms) {
  const auto bits = [](double number) { return std::bit_cast<std::uint64_t>(number); };
  TermWords out{(terms.choice ? kHasChoice : 0) + (terms.time ? kHasTime : 0)};
  if (const auto& choice = terms.choice)
    std::ranges::copy(
        std::array{choice->tau, bits(choice->rho), bits(choice->beta), bits(choice->delta),
                   bits(choice->bound), bits(choice->step_seconds), bits(choice->round_seconds)},
        out.begin() + 1);
  if (const auto& time = terms.time)
    std::ranges::copy(std::array{bits(time->total_seconds), bits(time->seconds), bits(time->slowest_seconds),
                                 bits(time->idle_share), time->chosen, time->missed, time->abandoned},
                      out.begin() + 8);
  return out;
}

RoundTerms terms_of(const TermWords& words) {
  const auto real = [&](std::size_t i) { return std::bit_cast<double>(words[i]); };
  RoundTerms out;
  if ((words[0] & kHasChoice) != 0)
    out.choice = RoundChoice{words[1], real(2), real(3), real(4), real(5), real(6), real(7)};
  if ((words[0] & kHasTime) != 0)
    out.time = RoundTime{real(8), real(9), real(10), real(11), words[12], words[13], words[14]};
  return out;
}

// Of the header and of the state's own checksum.
std::string checksum(std::string_view body, std::size_t header) {
  const auto digest =
      Sha256().update(body.substr(0, header)).update(body.substr(body.size() - kTrailer)).finish();
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

std::string counted_text(const CountedRounds& counted) {
  std::string out;
  for (const auto& [node, round] : counted) out += fmt::format("{} {}\n", round, node);
  return out;
}

// Nothing for a text that counted_text() does not write.
std::optional<CountedRounds> read_counted(std::string_view text) {
  CountedRounds counted;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    const std::size_t blank = line.find(' ');
    if (line.size() == rest.size() || blank == std::string_view::npos) return std::nullopt;
    std::uint64_t round = 0;
    if (std::from_chars(line.data(), line.data() + blank, round).ptr != line.data() + blank)
      return std::nullopt;
    counted[std::string(line.substr(blank + 1))] = round;
    rest.remove_prefix(line.size() + 1);
  }
  return counted_text(counted) == text ? std::optional(counted) : std::nullopt;
}

}  // namespace

template <class T>
std::string encode_round(const State<T>& state, std::uint64_t bytes_up, std::uint64_t bytes_down,
                         const SizeHistory& history, const CountedRounds& counted_rounds,
                         const RoundTerms& terms) {
  const std::string counted = counted_text(counted_rounds);
  std::string out;
  const bool with_terms = terms.choice || terms.time, with_counted = with_terms || !counted.empty();
  out.reserve(kHeader + (3 + history.moves.size()) * kWord + counted.size() + sizeof(TermWords) +
              encoded_size(state) + kTrailer);
  out += with_terms              ? kMagicWithTerms
         : with_counted          ? kMagicWithCounted
         : history.moves.empty() ? kMagic
                                 : kMagicWithHistory;
  append_word(out, bytes_up);
  append_word(out, bytes_down);
  if (!history.moves.empty() || with_counted) {
    append_word(out, std::bit_cast<std::uint64_t>(history.loss));
    append_word(out, history.moves.size());
    for (const double move : history.moves) append_word(out, std::bit_cast<std::uint64_t>(move));
  }
  if (with_counted) {
    append_word(out, counted.size());
    out += counted;
  }
  if (with_terms)
    for (const std::uint64_t word : words_of(terms)) append_word(out, word);
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
  const bool has_terms = bytes.starts_with(kMagicWithTerms);
  const bool has_counted = has_terms || bytes.starts_with(kMagicWithCounted);
  const bool has_history = has_counted || bytes.starts_with(kMagicWithHistory);
  if ((!has_history && !bytes.starts_with(kMagic)) || bytes.size() < kHeader + 2 * kTrailer)
    return damaged("it does not begin with MFLROUND or is cut short");
  const std::string_view body = bytes.substr(0, bytes.size() - kTrailer);
  const auto word = [&](std::size_t number) { return take(bytes.substr(kMagic.size() + number * kWord)); };
  std::size_t header = kHeader;
  if (has_history) {
    const std::uint64_t moves = word(3);
    header += 2 * kWord + std::min<std::uint64_t>(moves, kMostMoves) * kWord;
    if ((moves == 0 && !has_counted) || moves > kMostMoves || body.size() < header + kTrailer)
      return damaged("its history does not fit");
  }
  std::string_view counted;
  if (has_counted) {
    const std::uint64_t size = take(body.substr(header));
    header += kWord;
    if ((size == 0 && !has_terms) || size > body.size() - header || body.size() - header - size < kTrailer)
      return damaged("its list of nodes does not fit");
    counted = body.substr(header, static_cast<std::size_t>(size));
    header += counted.size();
  }
  TermWords terms{};
  if (has_terms) {
    if (body.size() - header < sizeof terms + kTrailer) return damaged("its terms do not fit");
    for (std::uint64_t& term : terms) {
      term = take(body.substr(header));
      header += kWord;
    }
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
  if (has_counted) {
    auto nodes = read_counted(counted);
    if (!nodes) return damaged("its list of nodes cannot be read");
    out.counted = *std::move(nodes);
  }
  out.terms = terms_of(terms);
  MFL_TRY(out.state, decode_state<T>(body.substr(header)));
  return out;
}

template std::string encode_round(const State<float>&, std::uint64_t, std::uint64_t, const SizeHistory&,
                                  const CountedRounds&, const RoundTerms&);
template std::string encode_round(const State<double>&, std::uint64_t, std::uint64_t, const SizeHistory&,
                                  const CountedRounds&, const RoundTerms&);
template Result<Resumption<float>> decode_round(std::string_view);
template Result<Resumption<double>> decode_round(std::string_view);

}  // namespace mfl
