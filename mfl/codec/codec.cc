#include "mfl/codec/codec.h"

#include <fmt/core.h>

#include <cassert>
#include <cstring>

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
UpdateVector<const T> read_only(const UpdateVector<T>& vector) {
  return {vector.values, vector.origin};
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
    MFL_TRY(auto spec, parse_spec(part, codecs()));
    if (const Codec* const last = chain.encoder())
      return fail(ErrorCode::kBadConfig,
                  fmt::format("codec {} follows {}, which encodes", spec.text, last->spec()),
                  fmt::format("put {} last", last->spec()));
    chain.codecs_.push_back(spec.entry->make(std::move(spec.text), spec.values));
  }
  return chain;
}

std::string CodecChain::spec() const {
  std::string out;
  for (const auto& codec : codecs_) out += (out.empty() ? "" : ", ") + codec->spec();
  return out;
}

const Codec* CodecChain::encoder() const {
  return codecs_.empty() || codecs_.back()->encoding().empty() ? nullptr : codecs_.back().get();
}

template <class T>
std::string_view CodecChain::encoding() const {
  if (const Codec* const codec = encoder()) return codec->encoding();
  return sizeof(T) == sizeof(float) ? "f32" : "f64";
}

template <class T>
std::size_t CodecChain::bytes_per_number() const {
  const Codec* const codec = encoder();
  return codec != nullptr ? codec->bytes_per_number() : sizeof(T);
}

template <class T>
void CodecChain::pass(std::span<const UpdateVector<T>> update) const {
  for (const auto& codec : codecs_) codec->change(update);
  const Codec* const codec = encoder();
  if (codec == nullptr) return;
  std::string bytes;
  for (const UpdateVector<T>& vector : update) {
    bytes.resize(vector.values.size() * codec->bytes_per_number());
    codec->encode(read_only(vector), bytes.data());
    codec->decode(bytes.data(), vector);
  }
}

template <class T>
std::string CodecChain::encode(std::span<const UpdateVector<T>> update) const {
  for (const auto& codec : codecs_) codec->change(update);
  std::size_t numbers = 0;
  for (const UpdateVector<T>& vector : update) numbers += vector.values.size();
  std::string bytes(numbers * bytes_per_number<T>(), '\0');
  char* at = bytes.data();
  for (const UpdateVector<T>& vector : update) {
    if (const Codec* const codec = encoder())
      codec->encode(read_only(vector), at);
    else if (!vector.values.empty())
      std::memcpy(at, vector.values.data(), vector.values.size_bytes());
    at += vector.values.size() * bytes_per_number<T>();
  }
  return bytes;
}

template <class T>
void CodecChain::decode(std::string_view bytes, std::span<const UpdateVector<T>> update) const {
  for (const UpdateVector<T>& vector : update) {
    const std::size_t size = vector.values.size() * bytes_per_number<T>();
    assert(size <= bytes.size());
    if (const Codec* const codec = encoder())
      codec->decode(bytes.data(), vector);
    else if (!vector.values.empty())
      std::memcpy(vector.values.data(), bytes.data(), size);
    bytes.remove_prefix(size);
  }
}

#define MFL_INSTANTIATE(T)                                                         \
  template std::string_view CodecChain::encoding<T>() const;                       \
  template std::size_t CodecChain::bytes_per_number<T>() const;                    \
  template void CodecChain::pass(std::span<const UpdateVector<T>>) const;          \
  template std::string CodecChain::encode(std::span<const UpdateVector<T>>) const; \
  template void CodecChain::decode(std::string_view, std::span<const UpdateVector<T>>) const;
MFL_INSTANTIATE(float)
MFL_INSTANTIATE(double)
#undef MFL_INSTANTIATE

}  // namespace mfl
