// Statistics of a few seeds. Pure functions with a fixed order of operations: the same bits everywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace mfl {

struct Summary {
  std::size_t count = 0;
  double mean = 0;           // 0 without values; infinite if a value is
  std::optional<double> sd;  // the sample's, divided by count - 1; absent for one value or if one is infinite
};
Summary summary_of(std::span<const double> values);

// 1 for the smallest; equal values share the mean of their ranks. Infinite values are equal and last.
std::vector<double> ranks_of(std::span<const double> values);

// The 0.975 quantile of Student's t with so many degrees of freedom, >= 1. Above 30, that of 30.
double student_t(std::size_t degrees);

enum class PairedVerdict { kBetter, kTie, kWorse, kUnknown };

// `a` against `b` of the same seeds, less being better.
struct PairedDifference {
  double mean = 0;               // mean of a - b; infinite or NaN where one diverged
  std::optional<double> margin;  // half of the 95 % interval of the mean; absent for one seed
  PairedVerdict verdict = PairedVerdict::kUnknown;
};
// Better or worse where the 95 % interval of the mean paired difference (Student's t) leaves out 0, else a
// tie. One seed has no interval: the verdict is kUnknown unless the values are equal. One that is infinite
// for some seed is worse than one that is finite for all; two of that kind are a tie.
PairedDifference compare_paired(std::span<const double> a, std::span<const double> b);

struct ConfidenceInterval {
  double low = 0, high = 0;
};

struct MeanRank {
  double rank = 0;
  std::optional<ConfidenceInterval> interval;  // 95 %, by bootstrap over seeds; absent for one seed
};

inline constexpr std::size_t kBootstrapSamples = 2000;

// values[cell][algorithm][seed], less being better, of equally many seeds everywhere. In each cell algorithms
// are ranked by their mean over seeds; the mean rank is over cells. A bootstrap sample draws for each cell as
// many of its seeds, with replacement, the same for all algorithms; the interval leaves out 2.5 % of the
// samples at each end.
std::vector<MeanRank> mean_ranks(const std::vector<std::vector<std::vector<double>>>& values);

}  // namespace mfl
