// The geometric median and centred clipping.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "mfl/aggregate/centre.h"
#include "mfl/aggregate/rules.h"

namespace mfl {
namespace {

class GeometricMedian final : public AggregatorOf<GeometricMedian> {
 public:
  GeometricMedian(std::string spec, std::size_t iterations, double nu)
      : AggregatorOf(std::move(spec)), iterations_(iterations), nu_(nu) {}

  template <class T>
  void combine(std::span<const NodeVectors<T>> updates, const NodeVectors<T>&, std::vector<Vector<T>>& out,
               const ForEach& run) const {
    Centre<T> centre(updates, run);
    centre.start_at_mean();
    for (std::size_t k = 0; k < iterations_; ++k) {
      const auto distances = centre.distances();
      centre.move(shares(distances.values, nu_ / distances.unit));
    }
    centre.write(out);
  }

 private:
  // Proportional to 1 / max(nu, distance), with a sum of 1. Largest first becomes 1, so that nothing overflows.
  static std::vector<double> shares(std::vector<double> distances, double nu) {
    const double least_distance = std::max(nu, std::numeric_limits<double>::min());
    for (double& distance : distances) distance = std::max(distance, least_distance);
    const double nearest = *std::ranges::min_element(distances);
    double total = 0;
    for (double& share : distances) {
      share = nearest / share;
      total += share;
    }
    for (double& share : distances) share /= total;
    return distances;
  }

  std::size_t iterations_;
  double nu_;
};

class CentredClipping final : public AggregatorOf<CentredClipping> {
 public:
  CentredClipping(std::string spec, double radius, std::size_t iterations)
      : AggregatorOf(std::move(spec)), radius_(radius), iterations_(iterations) {}

  template <class T>
  void combine(std::span<const NodeVectors<T>> updates, const NodeVectors<T>& broadcast,
               std::vector<Vector<T>>& out, const ForEach& run) const {
    const auto write_mean = [&] { exact_mean(updates, all_of(updates.size()), false, out, run); };
    if (std::isinf(radius_)) return write_mean();
    Centre<T> centre(updates, run);
    centre.start_at(broadcast);
    for (std::size_t k = 0; k < iterations_; ++k) {
      auto [distances, unit] = centre.distances();
      const double radius = radius_ / unit;
      const bool clips = std::ranges::any_of(distances, [&](double distance) { return distance > radius; });
      if (!clips && k + 1 == iterations_) return write_mean();
      if (!clips) {
        centre.start_at_mean();
        continue;
      }
      const auto n = static_cast<double>(updates.size());
      for (double& distance : distances) distance = (distance > radius ? radius / distance : 1) / n;
      centre.move(distances);
    }
    centre.write(out);
  }

 private:
  double radius_;
  std::size_t iterations_;
};

}  // namespace

std::unique_ptr<const Aggregator> make_geometric_median(std::string spec, std::size_t iterations, double nu) {
  return std::make_unique<GeometricMedian>(std::move(spec), iterations, nu);
}

std::unique_ptr<const Aggregator> make_centred_clipping(std::string spec, double radius,
                                                        std::size_t iterations) {
  return std::make_unique<CentredClipping>(std::move(spec), radius, iterations);
}

}  // namespace mfl
