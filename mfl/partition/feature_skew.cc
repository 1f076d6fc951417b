#include "mfl/partition/feature_skew.h"

#include <vector>

namespace mfl {
namespace {

constexpr double kUsualNoise = 0.1, kUsualAngle = 90;
constexpr NumberRange kNoiseDeviation{[](double x) { return x >= 0 && x <= 1e6; }, "in [0, 1e6]"};
constexpr NumberRange kAngle{[](double x) { return x >= -360 && x <= 360; }, "in [-360, 360]"};

std::vector<FeatureSkewEntry> built_in_feature_skews() {
  return {
      {{.name = "none", .description = "features are as the data has them"}, nullptr},
      {{.name = "noise",
        .parameters = {{.name = "sigma",
                        .help = "deviation at node N",
                        .range = kNoiseDeviation,
                        .default_value = kUsualNoise}},
        .description = "Gaussian noise, of node i of N with the deviation sigma i/N"},
       [](Dataset& rows, const NodesOfRows& nodes, const ParameterValues& values) {
         return add_noise(rows, nodes, values.find("sigma").value_or(kUsualNoise));
       }},
      {{.name = "rotation",
        .parameters = {{.name = "degrees",
                        .help = "from a node to the next",
                        .range = kAngle,
                        .default_value = kUsualAngle}},
        .description = "square images, turned by a multiple of the angle: by 0 at the first node"},
       [](Dataset& rows, const NodesOfRows& nodes, const ParameterValues& values) {
         return rotate_images(rows, nodes, values.find("degrees").value_or(kUsualAngle));
       }},
  };
}

}  // namespace

Catalog<FeatureSkewEntry>& feature_skews() {
  static Catalog<FeatureSkewEntry> all("skew", built_in_feature_skews());
  return all;
}

Result<void> skew_features(std::string_view spec, Dataset& rows, const NodesOfRows& nodes) {
  MFL_TRY(const auto chosen, parse_spec(spec, feature_skews()));
  if (!chosen.entry->change) return {};
  rows = owned(std::move(rows));
  return chosen.entry->change(rows, nodes, chosen.values);
}

}  // namespace mfl
