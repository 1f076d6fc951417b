// x <- s + (x - s) min(1, norm / |x - s|), where s is where the update started and the norm is over all of
// its vectors together.
//
// |x - s| is added up in f64, coordinate by coordinate in their order; the factor is rounded to the precision
// of the update once. A distance too large for f64 leaves s. Numbers that are not finite stay so, for whoever
// checks the update.
#include <cmath>

#include "mfl/base/squared_distance.h"
#include "mfl/codec/built_in.h"

namespace mfl {
namespace {

class Clip final : public CodecOf<Clip> {
 public:
  Clip(std::string spec, double norm) : CodecOf(std::move(spec)), norm_(norm) {}

  template <class T>
  void apply(std::span<const UpdateVector<T>> update) const {
    double square = 0;
    for (const UpdateVector<T>& vector : update)
      square = add_squared_distance<T>(square, vector.values, vector.origin);
    const double distance = std::sqrt(square);
    if (!(distance > norm_)) return;
    const T factor = static_cast<T>(norm_ / distance);
    for (const UpdateVector<T>& vector : update)
      for (std::size_t i = 0; i < vector.values.size(); ++i)
        vector.values[i] = vector.origin[i] + factor * (vector.values[i] - vector.origin[i]);
  }

 private:
  double norm_;
};

}  // namespace

std::unique_ptr<const Codec> make_clip(std::string spec, double norm) {
  return std::make_unique<Clip>(std::move(spec), norm);
}

}  // namespace mfl
