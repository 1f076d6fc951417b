#include "mfl/aggregate/aggregator.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "mfl/aggregate/exact_mean.h"
#include "mfl/aggregate/rules.h"
#include "mfl/aggregate/slices.h"

namespace mfl {
namespace {

class Mean final : public AggregatorOf<Mean> {
 public:
  using AggregatorOf::AggregatorOf;

  bool weighted() const override { return true; }

  template <class T>
  void combine(std::span<const NodeVectors<T>> updates, const NodeVectors<T>&, std::vector<Vector<T>>& out,
               const ForEach& run) const {
    for (const auto& update : updates)
      if (update.samples == 0 || update.samples > ExactMean::kMaxWeight)
        throw std::invalid_argument(fmt::format("{} samples are outside 1 to 2^32", update.samples));
    exact_mean(updates, all_of(updates.size()), true, out, run);
  }

 private:
  void make_accumulator(std::vector<SentVector> layout, AccumulatorOptions options,
                        std::unique_ptr<Accumulator<float>>& made) const override {
    made = make_mean_accumulator<float>(std::move(layout), std::move(options));
  }
  void make_accumulator(std::vector<SentVector> layout, AccumulatorOptions options,
                        std::unique_ptr<Accumulator<double>>& made) const override {
    made = make_mean_accumulator<double>(std::move(layout), std::move(options));
  }
};

template <class T>
bool same_shape(const NodeVectors<T>& a, const NodeVectors<T>& b) {
  return std::ranges::equal(a.vectors, b.vectors, {}, &std::span<const T>::size, &std::span<const T>::size);
}

constexpr NumberRange kFraction{[](double x) { return x >= 0 && x < 0.5; }, "in [0, 0.5)"};
constexpr NumberRange kCount{[](double x) { return x >= 0; }, ">= 0"};
constexpr NumberRange kPositiveCount{[](double x) { return x >= 1; }, ">= 1"};
constexpr NumberRange kPositive{[](double x) { return x > 0; }, "> 0"};
constexpr NumberRange kSteps{[](double x) { return x >= 1 && x <= 1000; }, "in [1, 1000]"};

using Made = Result<std::unique_ptr<const Aggregator>>;

std::vector<AggregatorEntry> built_in() {
  const Parameter f{.name = "f", .help = "hostile nodes to withstand", .range = kCount, .whole = true};
  const Parameter m{
      .name = "m", .help = "nodes to average", .range = kPositiveCount, .optional = true, .whole = true};
  const auto steps = [](double by_default) {
    return Parameter{
        .name = "iterations", .help = "steps", .range = kSteps, .default_value = by_default, .whole = true};
  };
  return {
      {{.name = "mean", .description = "exact mean, weighted by samples"},
       [](std::string spec, const ParameterValues&) -> Made {
         return std::make_unique<Mean>(std::move(spec));
       }},
      {{.name = "median", .description = "median of each coordinate"},
       [](std::string spec, const ParameterValues&) -> Made { return make_median(std::move(spec)); }},
      {{.name = "trimmed-mean",
        .parameters =
            {{.name = "fraction", .help = "share of nodes trimmed on each side", .range = kFraction}},
        .description = "mean of each coordinate without the smallest and the largest numbers"},
       [](std::string spec, const ParameterValues& values) -> Made {
         return make_trimmed_mean(std::move(spec), values.number("fraction"));
       }},
      {{.name = "krum", .parameters = {f}, .description = "the update nearest to its nearest others"},
       [](std::string spec, const ParameterValues& values) -> Made {
         return make_multi_krum(std::move(spec), values.count("f"), 1);
       }},
      {{.name = "multi-krum",
        .parameters = {f, m},
        .description = "mean of the m updates nearest to their nearest others; m is n - f by default"},
       [](std::string spec, const ParameterValues& values) -> Made {
         const auto chosen = values.find("m") ? std::optional(values.count("m")) : std::nullopt;
         return make_multi_krum(std::move(spec), values.count("f"), chosen);
       }},
      {{.name = "geometric-median",
        .aliases = {"rfa"},
        .parameters = {steps(4),
                       {.name = "nu",
                        .help = "distance below which a node gets no closer",
                        .range = kPositive,
                        .default_value = 1e-5}},
        .description = "point with the least sum of distances, by smoothed Weiszfeld steps from the mean"},
       [](std::string spec, const ParameterValues& values) -> Made {
         return make_geometric_median(std::move(spec), values.count("iterations"), values.number("nu"));
       }},
      {{.name = "centred-clipping",
        .aliases = {"centered-clipping"},
        .parameters = {{.name = "radius",
                        .help = "largest distance from the last aggregate that counts in full",
                        .range = kPositive,
                        .may_be_infinite = true},
                       steps(1)},
        .description = "mean of the changes since the last aggregate, each clipped to a radius"},
       [](std::string spec, const ParameterValues& values) -> Made {
         return make_centred_clipping(std::move(spec), values.number("radius"), values.count("iterations"));
       }},
  };
}

}  // namespace

const Aggregator& mean_aggregator() {
  static const Mean mean("mean");
  return mean;
}

void Aggregator::make_accumulator(std::vector<SentVector> layout, AccumulatorOptions options,
                                  std::unique_ptr<Accumulator<float>>& made) const {
  made = hold_updates<float>(*this, std::move(layout), std::move(options));
}

void Aggregator::make_accumulator(std::vector<SentVector> layout, AccumulatorOptions options,
                                  std::unique_ptr<Accumulator<double>>& made) const {
  made = hold_updates<double>(*this, std::move(layout), std::move(options));
}

Result<void> Aggregator::check(std::size_t nodes) const {
  if (nodes > 0) return {};
  return fail(ErrorCode::kBadConfig, fmt::format("{} needs at least 1 node, not 0", spec()));
}

template <class T>
void prepare_aggregation(const Aggregator& aggregator, std::span<const NodeVectors<T>> updates,
                         const NodeVectors<T>& broadcast, std::vector<Vector<T>>& out) {
  if (const auto checked = aggregator.check(updates.size()); !checked)
    throw std::invalid_argument(checked.error().text());
  for (const auto& update : updates)
    if (!same_shape(update, broadcast))
      throw std::invalid_argument("updates differ in shape from the broadcast");
  out.resize(broadcast.vectors.size());
  for (std::size_t v = 0; v < out.size(); ++v) out[v].resize(broadcast.vectors[v].size());
}

template void prepare_aggregation(const Aggregator&, std::span<const NodeVectors<float>>,
                                  const NodeVectors<float>&, std::vector<Vector<float>>&);
template void prepare_aggregation(const Aggregator&, std::span<const NodeVectors<double>>,
                                  const NodeVectors<double>&, std::vector<Vector<double>>&);

Catalog<AggregatorEntry>& aggregators() {
  static Catalog<AggregatorEntry> catalog("aggregator", built_in());
  return catalog;
}

Result<std::unique_ptr<const Aggregator>> make_aggregator(std::string_view spec) {
  MFL_TRY(auto parsed, parse_spec(spec, aggregators()));
  return parsed.entry->make(std::move(parsed.text), parsed.values);
}

}  // namespace mfl
