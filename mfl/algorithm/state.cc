#include "mfl/algorithm/state.h"

#include <bit>
#include <span>

#include "mfl/base/digest.h"

namespace mfl {
namespace {

static_assert(std::endian::native == std::endian::little, "digests are of little-endian numbers");

template <class T>
void update(Sha256& digest, const Vector<T>& values) {
  digest.update(std::as_bytes(std::span(values)));
}

}  // namespace

template <class T>
std::string weights_digest(const State<T>& state) {
  Sha256 digest;
  update(digest, state.w());
  return digest.finish_hex();
}

template <class T>
std::string state_digest(const State<T>& state) {
  Sha256 digest;
  digest.update(state.round).update(state.step);
  for (const auto& vector : state.vectors) {
    digest.update(vector.name).update(std::uint64_t{vector.values.size()});
    update(digest, vector.values);
  }
  return digest.finish_hex();
}

template std::string weights_digest(const State<float>&);
template std::string weights_digest(const State<double>&);
template std::string state_digest(const State<float>&);
template std::string state_digest(const State<double>&);

}  // namespace mfl
