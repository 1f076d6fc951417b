#include <algorithm>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "mfl/base/rng.h"
#include "mfl/partition/feature_skew.h"

namespace mfl {
namespace {

template <class X>
void add_to(std::vector<X>& values, std::size_t columns, double scale, const NodesOfRows& nodes,
            double sigma) {
  for (std::size_t k = 0; k < nodes.here(); ++k) {
    const std::size_t node = nodes.first_node + k;
    const double deviation =
        sigma * static_cast<double>(node + 1) / static_cast<double>(nodes.all_nodes) / scale;
    Stream stream(nodes.seed, Purpose::kFeatureSkew, 0, node);
    for (std::size_t i = nodes.starts[k] * columns; i < nodes.starts[k + 1] * columns; ++i)
      values[i] = static_cast<X>(static_cast<double>(values[i]) + deviation * stream.normal());
  }
}

}  // namespace

Result<void> add_noise(Dataset& rows, const NodesOfRows& nodes, double sigma) {
  if (is_sparse(rows))
    return fail(ErrorCode::kBadConfig, "feature_skew noise: the features are sparse, and noise is not",
                "leave feature_skew out, or give the data as npy or csv");
  if (const auto* bytes = std::get_if<DenseRows<std::uint8_t>>(&rows.features)) {
    DenseRows<float> scaled{std::vector<float>(bytes->values.size())};
    std::ranges::transform(bytes->values, scaled.values.begin(),
                           [&](std::uint8_t x) { return static_cast<float>(rows.scale * x); });
    rows.features = std::move(scaled);
    rows.scale = 1;
  }
  visit_owned(
      [&](auto& features) {
        using Rows = std::remove_reference_t<decltype(features)>;
        if constexpr (std::is_same_v<Rows, DenseRows<float>> || std::is_same_v<Rows, DenseRows<double>>)
          add_to(features.values, rows.columns, rows.scale, nodes, sigma);
      },
      rows.features);
  return {};
}

}  // namespace mfl
