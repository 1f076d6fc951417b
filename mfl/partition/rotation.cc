#include <fmt/core.h>

#include <array>
#include <cmath>
#include <type_traits>
#include <variant>
#include <vector>

#include "mfl/base/math.h"
#include "mfl/partition/feature_skew.h"

namespace mfl {
namespace {

// A pixel of the turned image is a weighted sum of four of the image; those outside of it have the weight 0.
struct Source {
  std::array<std::size_t, 4> places{};
  std::array<double, 4> weights{};
};

Source source_of(double row, double column, std::size_t side) {
  const double top = std::floor(row), left = std::floor(column);
  const double down = row - top, right = column - left;
  Source out;
  for (std::size_t k = 0; k < 4; ++k) {
    const double r = top + static_cast<double>(k / 2), c = left + static_cast<double>(k % 2);
    const auto last = static_cast<double>(side - 1);
    if (r < 0 || c < 0 || r > last || c > last) continue;
    out.places[k] = static_cast<std::size_t>(r) * side + static_cast<std::size_t>(c);
    out.weights[k] = (k / 2 == 1 ? down : 1 - down) * (k % 2 == 1 ? right : 1 - right);
  }
  return out;
}

std::vector<Source> turned(std::size_t side, double degrees) {
  const SinCos angle = portable_sin_cos(degrees);
  const double middle = static_cast<double>(side - 1) / 2;
  std::vector<Source> out;
  for (std::size_t r = 0; r < side; ++r)
    for (std::size_t c = 0; c < side; ++c) {
      const double x = static_cast<double>(c) - middle, y = static_cast<double>(r) - middle;
      out.push_back(
          source_of(middle + x * angle.sin + y * angle.cos, middle + x * angle.cos - y * angle.sin, side));
    }
  return out;
}

template <class X>
void turn(std::span<X> image, std::span<const Source> sources, std::vector<double>& before) {
  before.assign(image.begin(), image.end());
  for (std::size_t i = 0; i < image.size(); ++i) {
    double value = 0;
    for (std::size_t k = 0; k < 4; ++k) value += sources[i].weights[k] * before[sources[i].places[k]];
    image[i] = static_cast<X>(std::is_integral_v<X> ? std::floor(value + 0.5) : value);
  }
}

template <class X>
void turn_nodes(std::vector<X>& values, std::size_t side, const NodesOfRows& nodes, double degrees) {
  constexpr double kWhole = 360;
  const std::size_t columns = side * side;
  std::vector<double> before;
  for (std::size_t k = 0; k < nodes.here(); ++k) {
    const double angle = std::fmod(degrees * static_cast<double>(nodes.first_node + k), kWhole);
    if (angle == 0) continue;
    const std::vector<Source> sources = turned(side, angle);
    for (std::size_t row = nodes.starts[k]; row < nodes.starts[k + 1]; ++row)
      turn(std::span(values).subspan(row * columns, columns), sources, before);
  }
}

}  // namespace

Result<void> rotate_images(Dataset& rows, const NodesOfRows& nodes, double degrees) {
  const auto side = static_cast<std::size_t>(std::sqrt(static_cast<double>(rows.columns)) + 0.5);
  if (is_sparse(rows) || side * side != rows.columns)
    return fail(ErrorCode::kBadConfig,
                fmt::format("feature_skew rotation: {} features are no square image",
                            is_sparse(rows) ? "sparse" : fmt::format("{}", rows.columns)),
                "leave feature_skew out; rotation is for images such as those of MNIST, 28 x 28 features");
  visit_owned(
      [&](auto& features) {
        using Rows = std::remove_reference_t<decltype(features)>;
        if constexpr (!std::is_same_v<Rows, SparseRows<float>> && !std::is_same_v<Rows, SparseRows<double>>)
          turn_nodes(features.values, side, nodes, degrees);
      },
      rows.features);
  return {};
}

}  // namespace mfl
