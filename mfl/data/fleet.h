// The data of a fleet of devices: what a node holds is made from (seed, node) whenever it is needed and
// stored nowhere. Classes look as those of a synthetic set of the same seed and columns. Whole numbers only,
// so the same bytes everywhere.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mfl/base/kernels/kernels.h"
#include "mfl/base/result.h"
#include "mfl/data/dataset.h"
#include "mfl/data/synthetic.h"

namespace mfl {

struct FleetShape {
  std::uint32_t least = 10, most = 10;  // samples of a node: drawn evenly between the two, both included
  std::size_t columns = 784;
  // 0: nodes draw classes evenly. Else the class shares of each node are drawn from a symmetric Dirichlet
  // distribution, in [1e-6, 1e6].
  double alpha = 0;
  // 0: see `least`. Else the number of samples is lognormal: median * exp(sigma x) with x from the standard
  // normal distribution, rounded, and no less than `least` nor more than `most`. In [0, 10].
  double sigma = 0;
  std::uint32_t median = 10;
};

// Whether a data spec is one of a fleet: "fleet" or "fleet:...".
bool is_fleet(std::string_view spec);

// "fleet", "fleet:SAMPLESxCOLUMNS" or "fleet:LEAST-MOSTxCOLUMNS", and then ",alpha=A" and ",sigma=S"; with
// sigma, SAMPLES is the median, and a node has at most 100 times as many. Else kBadConfig. At most 2^16
// samples per node and 2^26 numbers.
Result<FleetShape> parse_fleet(const std::string& spec);

template <class Y>
using ClassTargets = std::array<Y, SyntheticRows::kClasses>;

// Read-only once made, so safe to share.
class FleetRows {
 public:
  static constexpr double kScale = 1.0 / 255;

  FleetRows(const FleetShape& shape, std::uint64_t seed);

  const FleetShape& shape() const { return shape_; }
  std::size_t samples(std::uint64_t node) const;

  // The samples of a node: pixels.size() = targets.size() * columns, and for each row the target of its
  // class. Nothing is allocated. What the first rows are does not depend on how many are asked for. Y is
  // float or double.
  template <class Y>
  void fill(std::uint64_t node, std::span<std::uint8_t> pixels, std::span<Y> targets,
            const ClassTargets<Y>& target_of_class, const KernelSet& kernels = default_kernel_set()) const;

  // Samples of no node, for testing.
  Dataset test_set(std::size_t rows) const;

  // SHA-256 (hex) of all that the samples of `nodes` nodes depend on.
  std::string digest(std::uint64_t nodes) const;

 private:
  FleetShape shape_;
  std::uint64_t seed_;
  std::vector<std::uint8_t> patterns_;  // class-major, classes x columns
  std::vector<std::uint8_t> canvas_;
};

}  // namespace mfl
