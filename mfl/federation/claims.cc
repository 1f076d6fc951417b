#include "mfl/federation/claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "mfl/base/visible.h"

namespace mfl {
namespace {

constexpr std::array<std::string_view, 3> kRules = {"refuse", "exclude", "warn"};
constexpr double kTimesUsual = 100, kTimesOfTwo = 1e4;
constexpr double kSmallest = 256;    // bytes from 1 to 255 are in bounds
constexpr double kMostlyZero = 1;    // a deviation of so many times the mean
constexpr double kShareOfAll = 0.1;  // of the median spread

// The lower one of an even number, so the smaller of two. 0 of none.
double lower_median(std::vector<double>& numbers) {
  if (numbers.empty()) return 0;
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>((numbers.size() - 1) / 2);
  std::nth_element(numbers.begin(), middle, numbers.end());
  return *middle;
}

struct UsualColumns {
  std::vector<double> means, deviations, sizes;  // no means: not known, nor are sizes
  double spread = 0;                             // of the median column that is not constant

  double spread_of(std::size_t column) const {
    const double deviation = deviations[column];
    if (deviation == 0) return spread;
    const bool dense = !means.empty() && deviation <= kMostlyZero * std::abs(means[column]);
    return dense ? deviation : std::max(deviation, kShareOfAll * spread);
  }
};

double size_of(double mean, double deviation) { return std::hypot(mean, deviation); }

void find_spread(UsualColumns& usual) {
  std::vector<double> spreads;
  for (const double deviation : usual.deviations)
    if (deviation > 0) spreads.push_back(deviation);
  usual.spread = lower_median(spreads);
}

UsualColumns usual_of(const std::map<std::string, const ColumnMoments*>& nodes) {
  UsualColumns out;
  const std::size_t columns = nodes.begin()->second->means.size();
  std::vector<double> numbers;
  const auto median_of = [&](const auto& number) {
    numbers.clear();
    for (const auto& [node, moments] : nodes) numbers.push_back(number(*moments));
    return lower_median(numbers);
  };
  for (std::size_t j = 0; j < columns; ++j) {
    out.means.push_back(median_of([j](const ColumnMoments& node) { return node.means[j]; }));
    out.deviations.push_back(median_of([j](const ColumnMoments& node) { return node.deviations[j]; }));
    out.sizes.push_back(
        median_of([j](const ColumnMoments& node) { return size_of(node.means[j], node.deviations[j]); }));
  }
  find_spread(out);
  return out;
}

struct Worst {
  double ratio = 1;  // to what is allowed
  std::size_t column = 0, columns = 0;
  std::string text;
};

// `text` is made of the worst column only.
template <class Text>
void look(Worst& worst, double ratio, std::size_t column, bool& counted, const Text& text) {
  if (!(ratio > 1)) return;
  if (!std::exchange(counted, true)) ++worst.columns;
  if (ratio <= worst.ratio) return;
  worst.ratio = ratio;
  worst.column = column;
  worst.text = text();
}

Worst worst_of(const ColumnMoments& node, const UsualColumns& usual, double times) {
  Worst worst;
  for (std::size_t j = 0; j < node.means.size(); ++j) {
    const double mean = node.means[j], deviation = node.deviations[j];
    const double spread = usual.spread_of(j);
    bool counted = false;
    if (spread > 0 && !usual.means.empty())
      look(worst, std::abs(mean - usual.means[j]) / (times * spread), j, counted, [&] {
        return fmt::format("the mean {:.6g}, and {:.6g} with a deviation of {:.6g} is usual", mean,
                           usual.means[j], usual.deviations[j]);
      });
    if (spread > 0)
      look(worst, deviation / (times * spread), j, counted, [&] {
        return fmt::format("the deviation {:.6g}, and {:.6g} is usual", deviation, usual.deviations[j]);
      });
    // Sum x^2 / |sum x|: of values that are not zero, however many are.
    const double size =
        mean == 0 ? 0 : size_of(mean, deviation) * (size_of(mean, deviation) / std::abs(mean));
    if (size > 0 && !usual.sizes.empty())
      look(worst, usual.sizes[j] / (std::max(kSmallest, times) * size), j, counted,
           [&] { return fmt::format("values of about {:.6g}, and {:.6g} is usual", size, usual.sizes[j]); });
  }
  return worst;
}

std::string text_of(const std::string& node, const Worst& worst, const Schema& schema) {
  const std::string column = worst.column < schema.features.size()
                                 ? visible(schema.features[worst.column], 60)
                                 : fmt::format("number {}", worst.column + 1);
  const std::string more = worst.columns == 1 ? "" : fmt::format(" ({} columns are unusual)", worst.columns);
  return fmt::format("column {} of {} has {}{}: check its unit", column, node, worst.text, more);
}

std::string of_two(const std::string& a, const std::string& b, const std::string& text) {
  return fmt::format("{} and {} differ too much to tell which is right: {}", a, b, text);
}

}  // namespace

std::optional<OnOutlier> parse_on_outlier(std::string_view name) {
  const auto found = std::ranges::find(kRules, name);
  if (found == kRules.end()) return std::nullopt;
  return static_cast<OnOutlier>(found - kRules.begin());
}

std::vector<Outlier> column_outliers(const std::map<std::string, const ColumnMoments*>& nodes,
                                     const Schema& schema) {
  std::vector<Outlier> out;
  if (nodes.size() < 2) return out;
  const UsualColumns usual = usual_of(nodes);
  const bool two = nodes.size() == 2;
  for (const auto& [node, moments] : nodes) {
    const Worst worst = worst_of(*moments, usual, two ? kTimesOfTwo : kTimesUsual);
    if (worst.columns == 0) continue;
    std::string text = text_of(node, worst, schema);
    if (two) return {{"", of_two(nodes.begin()->first, nodes.rbegin()->first, text)}};
    out.push_back({node, std::move(text)});
  }
  return out;
}

std::vector<Outlier> number_outliers(const std::map<std::string, double>& nodes, std::string_view what) {
  std::vector<double> numbers;
  for (const auto& [node, number] : nodes) numbers.push_back(number);
  const double usual = lower_median(numbers);
  std::vector<Outlier> out;
  if (nodes.size() < 2) return out;
  const bool two = nodes.size() == 2;
  const double times = two ? kTimesOfTwo : kTimesUsual;
  for (const auto& [node, number] : nodes) {
    if (number <= times * (usual > 0 ? usual : 1) && number >= usual / times) continue;
    const std::string text =
        fmt::format("the {} of {} is {:.6g}, and {:.6g} is usual", what, node, number, usual);
    if (two) return {{"", of_two(nodes.begin()->first, nodes.rbegin()->first, text)}};
    out.push_back({node, text});
  }
  return out;
}

std::optional<std::string> late_outlier(const std::string& node, const ColumnMoments& columns,
                                        const Preprocessing& settled, const Schema& schema) {
  if (settled.deviations.size() != columns.means.size()) return std::nullopt;
  UsualColumns usual{settled.means, settled.deviations, {}, 0};
  for (std::size_t j = 0; j < usual.means.size(); ++j)
    usual.sizes.push_back(size_of(usual.means[j], usual.deviations[j]));
  find_spread(usual);
  const Worst worst = worst_of(columns, usual, kTimesUsual);
  if (worst.columns == 0) return std::nullopt;
  return text_of(node, worst, schema);
}

}  // namespace mfl
