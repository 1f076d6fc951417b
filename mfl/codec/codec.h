// What happens to an update on its way from a node to the server: a chain of codecs, chosen by specs such as
// "clip(10), bf16" or "topk(0.01), int8".
//
//   clip(norm)      shortens an update whose distance from where it started, over all of its vectors together, is above `norm`
//   topk(fraction)  sends the largest changes of each vector; the node keeps the others and adds them to its next update
//   int8            sends each change as one of 255 steps, rounded at random without bias
//   bf16            sends each change as a bfloat16: two bytes, 8 bits of precision
//
// A codec changes the numbers of an update (an effect that stays), or encodes the changes x - s of a vector
// from where it started the round as bytes. Several codecs may encode: each may hand numbers on to the next
// one. A simulation encodes and decodes too, so that its numbers are those of a federation. An empty chain
// leaves every bit as it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mfl/base/catalog.h"
#include "mfl/base/result.h"
#include "mfl/base/rng.h"
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

// Decodes the numbers that a codec handed on, as many as the span has. An error is for the codec to return.
template <class T>
using HandedOn = std::function<Result<void>(std::span<T> numbers)>;

// Immutable, so safe to use from several threads. Derive from CodecOf.
class Codec {
 public:
  virtual ~Codec() = default;
  Codec(const Codec&) = delete;
  Codec& operator=(const Codec&) = delete;

  const std::string& spec() const { return spec_; }  // canonical

  // The name that an encoded block bears on the wire; empty: this codec changes numbers and encodes nothing.
  virtual std::string_view encoding() const { return {}; }
  // Whether a node adds what was lost in encoding to its next update.
  virtual bool keeps_residuals() const { return false; }
  // Upper bounds of the bytes that a vector of `numbers` takes here, and of the numbers that are handed on.
  virtual std::size_t most_bytes(std::size_t /*numbers*/) const { return 0; }
  virtual std::size_t most_handed_on(std::size_t /*numbers*/) const { return 0; }

  virtual void change(std::span<const UpdateVector<float>> update) const = 0;
  virtual void change(std::span<const UpdateVector<double>> update) const = 0;
  // Appends to `bytes` what stands for the changes, and leaves in `handed_on` the numbers for the next codec.
  // The draws of the stream belong to this vector of this node in this round.
  virtual void encode(std::span<const float> changes, Stream& stream, std::string& bytes,
                      Vector<float>& handed_on) const = 0;
  virtual void encode(std::span<const double> changes, Stream& stream, std::string& bytes,
                      Vector<double>& handed_on) const = 0;
  // Takes its bytes from the front. They may come from anybody: an error says what is wrong with them;
  // whatever else they hold, `changes` are numbers, which need not be finite.
  virtual Result<void> decode(std::string_view& bytes, const HandedOn<float>& handed_on,
                              std::span<float> changes) const = 0;
  virtual Result<void> decode(std::string_view& bytes, const HandedOn<double>& handed_on,
                              std::span<double> changes) const = 0;

 protected:
  explicit Codec(std::string spec) : spec_(std::move(spec)) {}

 private:
  std::string spec_;
};

// A Codec written once for both precisions. Derived has one of
//   template <class T> void apply(std::span<const UpdateVector<T>> update) const;
// or encoding(), the bounds, and encode() and decode() as templates named
//   template <class T> void write(std::span<const T> changes, Stream&, std::string& bytes, Vector<T>& handed_on) const;
//   template <class T> Result<void> read(std::string_view& bytes, const HandedOn<T>&, std::span<T> changes) const;
template <class Derived>
class CodecOf : public Codec {
 public:
  explicit CodecOf(std::string spec) : Codec(std::move(spec)) {}

  template <class T>
  void apply(std::span<const UpdateVector<T>> /*update*/) const {}
  template <class T>
  void write(std::span<const T> /*changes*/, Stream& /*stream*/, std::string& /*bytes*/,
             Vector<T>& /*handed_on*/) const {}
  template <class T>
  Result<void> read(std::string_view& /*bytes*/, const HandedOn<T>& /*handed_on*/,
                    std::span<T> /*changes*/) const {
    return {};
  }

  void change(std::span<const UpdateVector<float>> update) const final { self().apply(update); }
  void change(std::span<const UpdateVector<double>> update) const final { self().apply(update); }
  void encode(std::span<const float> changes, Stream& stream, std::string& bytes,
              Vector<float>& handed_on) const final {
    self().write(changes, stream, bytes, handed_on);
  }
  void encode(std::span<const double> changes, Stream& stream, std::string& bytes,
              Vector<double>& handed_on) const final {
    self().write(changes, stream, bytes, handed_on);
  }
  Result<void> decode(std::string_view& bytes, const HandedOn<float>& handed_on,
                      std::span<float> changes) const final {
    return self().read(bytes, handed_on, changes);
  }
  Result<void> decode(std::string_view& bytes, const HandedOn<double>& handed_on,
                      std::span<double> changes) const final {
    return self().read(bytes, handed_on, changes);
  }

 private:
  const Derived& self() const { return static_cast<const Derived&>(*this); }
};

struct CodecEntry : CatalogEntry {
  std::function<std::unique_ptr<const Codec>(std::string spec, const ParameterValues&)> make = {};
};

// A program adds its own before it reads a configuration.
Catalog<CodecEntry>& codecs();

// Whose update is encoded, in which round: what random numbers of codecs depend on, beside the number of the
// vector.
struct CodecDraws {
  std::uint64_t seed = 0;
  std::uint64_t round = 0;
  std::uint64_t node = 0;
};

// Codecs in the order in which they are applied: those that change numbers, then those that encode. Cheap to
// copy.
class CodecChain {
 public:
  CodecChain() = default;
  // "clip(10), topk(0.01), int8"; empty: no codec. kBadConfig for what is no codec, for one that changes
  // numbers or keeps residuals behind one that encodes, and for any behind one that hands nothing on.
  static Result<CodecChain> parse(std::string_view text);

  bool empty() const { return codecs_.empty(); }
  std::string spec() const;  // canonical: parsing it gives the same chain
  bool encodes() const { return first_encoder_ < codecs_.size(); }
  bool keeps_residuals() const { return encodes() && codecs_[first_encoder_]->keeps_residuals(); }
  // Of a block whose numbers are of type T: "f32", "bf16", "topk+f32".
  template <class T>
  std::string encoding() const;
  // No encoded vector with this many numbers is larger.
  template <class T>
  std::size_t most_bytes(std::size_t numbers) const;

  // At a node: `update` becomes what the server makes of it. `residuals`, if the chain keeps any, has a
  // vector for each of the update's, or more: it is added to the update, and is then what this update did not
  // send. `bytes`, unless null, gets what is sent, vector by vector. Returns its size.
  template <class T>
  std::size_t send(std::span<const UpdateVector<T>> update, const CodecDraws& draws,
                   std::span<Vector<T>> residuals = {}, std::string* bytes = nullptr) const;

  // At the server. An error says which vector, by its number, is wrong in which way, and leaves any numbers.
  template <class T>
  Result<void> receive(std::string_view bytes, std::span<const UpdateVector<T>> update) const;

 private:
  template <class T>
  void encode(std::size_t codec, std::span<const T> numbers, Stream& stream, std::string& bytes) const;
  template <class T>
  Result<void> decode(std::size_t codec, std::string_view& bytes, std::span<T> numbers) const;

  std::vector<std::shared_ptr<const Codec>> codecs_;
  std::size_t first_encoder_ = 0;
};

}  // namespace mfl
