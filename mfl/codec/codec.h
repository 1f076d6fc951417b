// What happens to an update on its way from a node to the server: a chain of codecs, chosen by specs such as "clip(10), bf16".
//
//   clip(norm)   shortens an update whose distance from where it started, over all of its vectors together, is above `norm`
//   bf16         sends each number's change as a bfloat16: two bytes, 8 bits of precision
//
// A codec changes the numbers (an effect that stays), or encodes them as bytes that the server decodes. The simulation changes, encodes
// and decodes too, so that its numbers are those of a federation. An empty chain leaves every bit as it is.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mfl/base/catalog.h"
#include "mfl/base/result.h"
#include "mfl/base/vectors.h"

namespace mfl {

// One vector of an update, and where it started the round: the same number of values.
template <class T>
struct UpdateVector {
  std::span<T> values;
  std::span<const T> origin;
};

// The vectors of an update with where each of them started, which outlive it.
template <class T>
std::vector<UpdateVector<T>> update_vectors(std::vector<Vector<T>>& values,
                                            const std::vector<Vector<T>>& origin) {
  std::vector<UpdateVector<T>> out;
  for (std::size_t v = 0; v < values.size(); ++v) out.push_back({values[v], origin[v]});
  return out;
}

// Immutable, so safe to use from several threads. Derive from CodecOf.
class Codec {
 public:
  virtual ~Codec() = default;
  Codec(const Codec&) = delete;
  Codec& operator=(const Codec&) = delete;

  const std::string& spec() const { return spec_; }  // canonical

  // The name that an encoded block bears on the wire; empty: this codec changes numbers and encodes nothing.
  virtual std::string_view encoding() const { return {}; }
  virtual std::size_t bytes_per_number() const { return 0; }

  virtual void change(std::span<const UpdateVector<float>> update) const = 0;
  virtual void change(std::span<const UpdateVector<double>> update) const = 0;
  // `bytes` has room for, or has, bytes_per_number() for each value.
  virtual void encode(const UpdateVector<const float>& from, char* bytes) const = 0;
  virtual void encode(const UpdateVector<const double>& from, char* bytes) const = 0;
  virtual void decode(const char* bytes, const UpdateVector<float>& to) const = 0;
  virtual void decode(const char* bytes, const UpdateVector<double>& to) const = 0;

 protected:
  explicit Codec(std::string spec) : spec_(std::move(spec)) {}

 private:
  std::string spec_;
};

// A Codec written once for both precisions. Derived has one of
//   template <class T> void apply(std::span<const UpdateVector<T>> update) const;
// or encoding(), bytes_per_number() and
//   template <class T> void write(const UpdateVector<const T>& from, char* bytes) const;
//   template <class T> void read(const char* bytes, const UpdateVector<T>& to) const;
template <class Derived>
class CodecOf : public Codec {
 public:
  explicit CodecOf(std::string spec) : Codec(std::move(spec)) {}

  template <class T>
  void apply(std::span<const UpdateVector<T>> /*update*/) const {}
  template <class T>
  void write(const UpdateVector<const T>& /*from*/, char* /*bytes*/) const {}
  template <class T>
  void read(const char* /*bytes*/, const UpdateVector<T>& /*to*/) const {}

  void change(std::span<const UpdateVector<float>> update) const final { self().apply(update); }
  void change(std::span<const UpdateVector<double>> update) const final { self().apply(update); }
  void encode(const UpdateVector<const float>& from, char* bytes) const final { self().write(from, bytes); }
  void encode(const UpdateVector<const double>& from, char* bytes) const final { self().write(from, bytes); }
  void decode(const char* bytes, const UpdateVector<float>& to) const final { self().read(bytes, to); }
  void decode(const char* bytes, const UpdateVector<double>& to) const final { self().read(bytes, to); }

 private:
  const Derived& self() const { return static_cast<const Derived&>(*this); }
};

struct CodecEntry : CatalogEntry {
  std::function<std::unique_ptr<const Codec>(std::string spec, const ParameterValues&)> make = {};
};

// A program adds its own before it reads a configuration.
Catalog<CodecEntry>& codecs();

// Codecs in the order in which they are applied. The last one may encode. Cheap to copy.
class CodecChain {
 public:
  CodecChain() = default;
  // "clip(10), bf16"; empty: no codec. kBadConfig for what is no codec, and for one that follows an encoding.
  static Result<CodecChain> parse(std::string_view text);

  bool empty() const { return codecs_.empty(); }
  std::string spec() const;  // canonical: parsing it gives the same chain
  // Of a block whose numbers are of type T: "f32", "f64" or the encoding's name.
  template <class T>
  std::string_view encoding() const;
  template <class T>
  std::size_t bytes_per_number() const;

  // What the server makes of the update, in place.
  template <class T>
  void pass(std::span<const UpdateVector<T>> update) const;

  // The two halves of pass: at the node, which changes the update and gives its bytes, vector by vector; and at the server.
  template <class T>
  std::string encode(std::span<const UpdateVector<T>> update) const;
  // bytes.size() is bytes_per_number() for each value. Any bytes give some numbers, which need not be finite.
  template <class T>
  void decode(std::string_view bytes, std::span<const UpdateVector<T>> update) const;

 private:
  const Codec* encoder() const;

  std::vector<std::shared_ptr<const Codec>> codecs_;
};

}  // namespace mfl
