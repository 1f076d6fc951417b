#include "mfl/codec/codec.h"

#include <fmt/core.h>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <functional>

#include "mfl/codec/built_in.h"

namespace mfl {
namespace {

// At commas outside parentheses.
std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  std::size_t first = 0, depth = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '(') ++depth;
    if (i < text.size() && text[i] == ')' && depth > 0) --depth;
    if (i < text.size() && (text[i] != ',' || depth > 0)) continue;
    parts.push_back(text.substr(first, i - first));
    first = i + 1;
  }
  return parts;
}

template <class T>
void append_numbers(std::span<const T> numbers, std::string& bytes) {
  bytes.append(reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes());
}

}  // namespace

Catalog<CodecEntry>& codecs() {
  static Catalog<CodecEntry> catalog("codec", built_in_codecs());
  return catalog;
}

Result<CodecChain> CodecChain::parse(std::string_view text) {
  CodecChain chain;
  if (text.find_first_not_of(" \t") == std::string_view::npos) return chain;
  for (const std::string_view part : split(text)) {
    MFL_TRY(auto spec, parse_spec(part, mfl::codecs()));
    std::shared_ptr<const Codec> codec = spec.entry->make(std::move(spec.text), spec.values);
    if (const Codec* const last = chain.encodes() ? chain.codecs_.back().get() : nullptr) {
      if (last->most_handed_on(1) == 0)
        return fail(
            ErrorCode::kBadConfig,
            fmt::format("codec {} follows {}, which encodes all numbers", codec->spec(), last->spec()),
            fmt::format("put {} last", last->spec()));
      if (codec->encoding().empty() || codec->keeps_residuals())
        return fail(ErrorCode::kBadConfig,
                    fmt::format("codec {} follows {}, which encodes", codec->spec(), last->spec()),
                    fmt::format("put {} before {}", codec->spec(), last->spec()));
    }
    if (!chain.encodes()) chain.first_encoder_ += codec->encoding().empty() ? 1 : 0;
    chain.codecs_.push_back(std::move(codec));
  }
  return chain;
}

std::string CodecChain::spec() const {
  std::string out;
  for (const auto& codec : codecs_) out += (out.empty() ? "" : ", ") + codec->spec();
  return out;
}

template <class T>
std::string CodecChain::encoding() const {
  std::string out;
  for (std::size_t c = first_encoder_; c < codecs_.size(); ++c) {
    out += (out.empty() ? "" : "+") + std::string(codecs_[c]->encoding());
    if (codecs_[c]->most_handed_on(1) == 0) return out;
  }
  return out + (out.empty() ? "" : "+") + (sizeof(T) == sizeof(float) ? "f32" : "f64");
}

template <class T>
std::size_t CodecChain::most_bytes(std::size_t numbers) const {
  std::size_t bytes = 0;
  for (std::size_t c = first_encoder_; c < codecs_.size(); ++c) {
    bytes += codecs_[c]->most_bytes(numbers);
    numbers = codecs_[c]->most_handed_on(numbers);
  }
  return bytes + numbers * sizeof(T);
}

template <class T>
void CodecChain::encode(std::size_t codec, std::span<const T> numbers, Stream& stream,
                        std::string& bytes) const {
  if (codec == codecs_.size()) return append_numbers(numbers, bytes);
  Vector<T> handed_on;
  codecs_[codec]->encode(numbers, stream, bytes, handed_on);
  if (codecs_[codec]->most_handed_on(1) != 0) encode<T>(codec + 1, handed_on, stream, bytes);
}

template <class T>
Result<void> CodecChain::decode(std::size_t codec, std::string_view& bytes, std::span<T> numbers) const {
  if (codec == codecs_.size()) {
    MFL_TRY(const std::string_view mine, take_bytes(bytes, numbers.size_bytes()));
    if (!numbers.empty()) std::memcpy(numbers.data(), mine.data(), mine.size());
    return {};
  }
  const HandedOn<T> handed_on = [&](std::span<T> rest) { return decode(codec + 1, bytes, rest); };
  return codecs_[codec]->decode(bytes, handed_on, numbers);
}

template <class T>
std::size_t CodecChain::send(std::span<const UpdateVector<T>> update, const CodecDraws& draws,
                             std::span<Vector<T>> residuals, std::string* bytes) const {
  for (std::size_t c = 0; c < first_encoder_; ++c) codecs_[c]->change(update);
  std::string own;
  std::string& out = bytes != nullptr ? *bytes : own;
  out.clear();
  std::size_t plain = 0;
  for (std::size_t v = 0; v < update.size(); ++v) {
    const auto [values, origin] = update[v];
    if (!encodes()) {
      plain += values.size_bytes();
      if (bytes != nullptr) append_numbers<T>(values, out);
      continue;
    }
    Vector<T> changes(values.size()), decoded(values.size());
    std::ranges::transform(values, origin, changes.begin(), std::minus());
    if (!residuals.empty()) std::ranges::transform(changes, residuals[v], changes.begin(), std::plus());
    const std::size_t first = out.size();
    Stream stream(draws.seed, Purpose::kCodec, draws.round, draws.node, v);
    encode<T>(first_encoder_, changes, stream, out);
    std::string_view sent = std::string_view(out).substr(first);
    [[maybe_unused]] const auto whole = decode<T>(first_encoder_, sent, decoded);
    assert(whole && sent.empty());
    std::ranges::transform(origin, decoded, values.begin(), std::plus());
    if (!residuals.empty()) std::ranges::transform(changes, decoded, residuals[v].begin(), std::minus());
  }
  return encodes() ? out.size() : plain;
}

template <class T>
Result<void> CodecChain::receive(std::string_view bytes, std::span<const UpdateVector<T>> update) const {
  for (std::size_t v = 0; v < update.size(); ++v) {
    const auto [values, origin] = update[v];
    auto decoded = decode<T>(first_encoder_, bytes, values);
    if (decoded && v + 1 == update.size() && !bytes.empty())
      decoded = fail(ErrorCode::kBadData, fmt::format("{} bytes follow the last vector", bytes.size()));
    if (!decoded)
      return fail(ErrorCode::kBadData,
                  fmt::format("vector {} in {}: {}", v, encoding<T>(), decoded.error().message));
    if (encodes()) std::ranges::transform(origin, values, values.begin(), std::plus());
  }
  return {};
}

#define MFL_INSTANTIATE(T)                                                                   \
  template std::string CodecChain::encoding<T>() const;                                      \
  template std::size_t CodecChain::most_bytes<T>(std::size_t) const;                         \
  template std::size_t CodecChain::send(std::span<const UpdateVector<T>>, const CodecDraws&, \
                                        std::span<Vector<T>>, std::string*) const;           \
  template Result<void> CodecChain::receive(std::string_view, std::span<const UpdateVector<T>>) const;
MFL_INSTANTIATE(float)
MFL_INSTANTIATE(double)
#undef MFL_INSTANTIATE

}  // namespace mfl
