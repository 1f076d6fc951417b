#include "mfl/engine/external_rounds.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <limits>
#include <utility>

#include "mfl/solve/batches.h"

namespace mfl {

template <class T>
ExternalRounds<T>::ExternalRounds(OwnNodes own, const Federation<T>& federation, LocalNodeOptions options)
    : LocalNodes<T>(own),
      federation_(federation),
      options_(std::move(options)),
      reports_(federation.external->workers()) {}

template <class T>
void ExternalRounds<T>::start(std::span<const StepRange<T>> ranges, std::uint64_t steps) {
  range_ = &ranges.front();
  steps_ = steps;
}

template <class T>
NodeReport& ExternalRounds<T>::new_report(unsigned worker, std::size_t node) {
  NodeReport& report = reports_[worker].emplace_back();
  report.node = node;
  report.samples = federation_.nodes[node - federation_.first_node].count;
  return report;
}

template <class T>
double ExternalRounds<T>::measure(unsigned worker, std::size_t node, const Vector<T>& w) {
  ExternalReport measured =
      federation_.external->evaluate(worker, node - federation_.first_node, w, options_.stepping.before_step);
  new_report(worker, node).metrics = std::move(measured.metrics);
  return measured.loss;
}

template <class T>
std::size_t ExternalRounds<T>::evaluate(unsigned worker, std::size_t node, double /*lambda*/,
                                        const Vector<T>& w, double& loss) {
  loss = measure(worker, node, w);
  return reports_[worker].back().samples;
}

template <class T>
std::size_t ExternalRounds<T>::train(unsigned worker, std::size_t node, NodeMemory<T>& memory,
                                     std::span<NodeLosses> losses) {
  const Algorithm& algorithm = options_.settings[range_->setting].algorithm;
  const Batching& batching = options_.stepping.batching;
  std::vector<Vector<T>>& own = memory.vectors(range_->setting);
  const std::uint64_t round = range_->state->round + 1;
  const std::size_t samples = federation_.nodes[node - federation_.first_node].count;
  const std::uint64_t taken = steps_of_node(batching, samples, steps_);
  NodeRound<T> view{
      algorithm.vectors(), own, range_->state->vectors, federation_.train.kernels(), round, taken, samples};
  algorithm.method().begin_node(view);
  std::optional<double> evaluated;
  if (range_->evaluate) evaluated = measure(worker, node, own[0]);
  const NodeSteps how = algorithm.method().node_steps().value();
  const auto start = std::chrono::steady_clock::now();
  ExternalReport trained = federation_.external->train(worker, {.node = node - federation_.first_node,
                                                                .round = round,
                                                                .steps = taken,
                                                                .epochs = batching.by_epochs ? steps_ : 0,
                                                                .how = how,
                                                                .w = own[0],
                                                                .d = how.gamma ? &view[how.d] : nullptr,
                                                                .poll = options_.stepping.before_step});
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  algorithm.method().end_node(view);
  NodeReport& report = evaluated ? *last_report(worker) : new_report(worker, node);
  report.loss = trained.loss;
  report.evaluated = evaluated;
  report.seconds = took.count();
  report.metrics.merge(trained.metrics);
  losses.front() = {trained.loss, evaluated.value_or(0)};
  return samples;
}

template <class T>
std::vector<NodeReport> ExternalRounds<T>::take_reports(const Vector<T>& w) {
  std::vector<NodeReport> all;
  for (std::vector<NodeReport>& reports : reports_) {
    std::ranges::move(reports, std::back_inserter(all));
    reports.clear();
  }
  std::ranges::sort(all, {}, &NodeReport::node);
  MetricMeans means;
  for (const NodeReport& report : all) means.add(report.metrics, report.samples);
  measured_ = means.means();
  if (!measured_.empty()) measured_w_ = w;
  return all;
}

template <class T>
std::optional<TestMetrics> ExternalRounds<T>::test(double /*lambda*/, const Vector<T>& w,
                                                   TestDetail /*detail*/) {
  const auto loss = find_metric(measured_, kTestLossMetric),
             accuracy = find_metric(measured_, kTestAccuracyMetric);
  if ((!loss && !accuracy) || measured_w_ != w) return std::nullopt;
  constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();
  return TestMetrics{{}, loss.value_or(kNothing), accuracy.value_or(kNothing)};
}

template class ExternalRounds<float>;
template class ExternalRounds<double>;

}  // namespace mfl
