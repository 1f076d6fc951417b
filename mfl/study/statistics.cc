#include "mfl/study/statistics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "mfl/base/rng.h"

namespace mfl {
namespace {

bool all_finite(std::span<const double> values) {
  return std::ranges::all_of(values, [](double value) { return std::isfinite(value); });
}

// The draws of one cell, or all of its seeds in order.
using Draws = std::vector<std::size_t>;

std::vector<double> cell_ranks(const std::vector<std::vector<double>>& by_algorithm, const Draws& draws) {
  std::vector<double> means;
  means.reserve(by_algorithm.size());
  for (const std::vector<double>& seeds : by_algorithm) {
    double sum = 0;
    for (const std::size_t draw : draws) sum += seeds[draw];
    means.push_back(sum / static_cast<double>(draws.size()));
  }
  return ranks_of(means);
}

template <class DrawsOfCell>
std::vector<double> mean_rank_of(const std::vector<std::vector<std::vector<double>>>& values,
                                 DrawsOfCell draws_of_cell) {
  std::vector<double> sums(values.front().size(), 0);
  for (std::size_t cell = 0; cell < values.size(); ++cell) {
    const std::vector<double> ranks = cell_ranks(values[cell], draws_of_cell(cell));
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += ranks[i];
  }
  for (double& sum : sums) sum /= static_cast<double>(values.size());
  return sums;
}

ConfidenceInterval middle_of(std::vector<double> samples) {
  std::ranges::sort(samples);
  const std::size_t outside = samples.size() / 40;
  return {samples[outside], samples[samples.size() - 1 - outside]};
}

}  // namespace

Summary summary_of(std::span<const double> values) {
  Summary out{values.size(), 0, {}};
  if (values.empty()) return out;
  const auto count = static_cast<double>(values.size());
  out.mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  if (values.size() < 2 || !all_finite(values)) return out;
  double squares = 0;
  for (const double value : values) squares += (value - out.mean) * (value - out.mean);
  out.sd = std::sqrt(squares / (count - 1));
  return out;
}

std::vector<double> ranks_of(std::span<const double> values) {
  std::vector<double> ranks;
  ranks.reserve(values.size());
  const auto key = [](double value) {
    return std::isfinite(value) ? value : std::numeric_limits<double>::infinity();
  };
  for (const double value : values) {
    std::size_t below = 0, equal = 0;
    for (const double other : values) {
      below += key(other) < key(value) ? 1 : 0;
      equal += key(other) == key(value) ? 1 : 0;
    }
    ranks.push_back(static_cast<double>(below) + (static_cast<double>(equal) + 1) / 2);
  }
  return ranks;
}

double student_t(std::size_t degrees) {
  constexpr std::array<double, 30> kQuantiles = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
                                                 2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
                                                 2.110,  2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
                                                 2.060,  2.056, 2.052, 2.048, 2.045, 2.042};
  return kQuantiles.at(std::clamp<std::size_t>(degrees, 1, kQuantiles.size()) - 1);
}

PairedDifference compare_paired(std::span<const double> a, std::span<const double> b) {
  std::vector<double> differences;
  for (std::size_t i = 0; i < a.size(); ++i) differences.push_back(a[i] - b[i]);
  const Summary summary = summary_of(differences);
  PairedDifference out{summary.mean, {}, PairedVerdict::kUnknown};
  if (!all_finite(a) || !all_finite(b)) {
    out.verdict = all_finite(a)   ? PairedVerdict::kBetter
                  : all_finite(b) ? PairedVerdict::kWorse
                                  : PairedVerdict::kTie;
    return out;
  }
  if (summary.sd)
    out.margin = student_t(summary.count - 1) * *summary.sd / std::sqrt(static_cast<double>(summary.count));
  if (out.mean == 0 || (out.margin && std::abs(out.mean) <= *out.margin))
    out.verdict = PairedVerdict::kTie;
  else if (out.margin)
    out.verdict = out.mean < 0 ? PairedVerdict::kBetter : PairedVerdict::kWorse;
  return out;
}

std::vector<MeanRank> mean_ranks(const std::vector<std::vector<std::vector<double>>>& values) {
  if (values.empty() || values.front().empty()) return {};
  const std::size_t seeds = values.front().front().size();
  Draws all(seeds);
  std::iota(all.begin(), all.end(), std::size_t{0});
  std::vector<MeanRank> out;
  for (const double rank : mean_rank_of(values, [&](std::size_t) { return all; })) out.push_back({rank, {}});
  if (seeds < 2) return out;
  std::vector<std::vector<double>> samples(out.size());
  for (std::size_t sample = 0; sample < kBootstrapSamples; ++sample) {
    const auto ranks = mean_rank_of(values, [&](std::size_t cell) {
      Stream stream(0, Purpose::kBootstrap, sample, cell);
      Draws draws(seeds);
      for (std::size_t& draw : draws) draw = stream.below(seeds);
      return draws;
    });
    for (std::size_t i = 0; i < ranks.size(); ++i) samples[i].push_back(ranks[i]);
  }
  for (std::size_t i = 0; i < out.size(); ++i) out[i].interval = middle_of(std::move(samples[i]));
  return out;
}

}  // namespace mfl
