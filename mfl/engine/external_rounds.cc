#include "mfl/engine/external_rounds.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <limits>
#include <utility>

#include "mfl/solve/batches.h"

namespace mfl {

template <class T>
ExternalRounds<T>::ExternalRounds(const Federation<T>& federation, const Batching& batching,
                                  std::function<void()> poll)
    : federation_(federation),
      batching_(batching),
      poll_(std::move(poll)),
      reports_(federation.external->workers()) {}

template <class T>
NodeReport& ExternalRounds<T>::new_report(unsigned worker, std::size_t node) {
  NodeReport& report = reports_[worker].emplace_back();
  report.node = federation_.first_node + node;
  report.samples = federation_.nodes[node].count;
  return report;
}

template <class T>
double ExternalRounds<T>::evaluate(unsigned worker, std::size_t node, const Vector<T>& w) {
  ExternalReport measured = federation_.external->evaluate(worker, node, w, poll_);
  new_report(worker, node).metrics = std::move(measured.metrics);
  return measured.loss;
}

template <class T>
NodeLosses ExternalRounds<T>::train(unsigned worker, std::size_t node, const Algorithm& algorithm,
                                    const StepRange<T>& range, std::uint64_t steps,
                                    std::vector<Vector<T>>& own) {
  const std::uint64_t round = range.state->round + 1;
  const std::size_t samples = federation_.nodes[node].count;
  const std::uint64_t taken = steps_of_node(batching_, samples, steps);
  NodeRound<T> view{
      algorithm.vectors(), own, range.state->vectors, federation_.train.kernels(), round, taken, samples};
  algorithm.method().begin_node(view);
  std::optional<double> evaluated;
  if (range.evaluate) evaluated = evaluate(worker, node, own[0]);
  const NodeSteps how = algorithm.method().node_steps().value();
  const auto start = std::chrono::steady_clock::now();
  ExternalReport trained = federation_.external->train(worker, {.node = node,
                                                                .round = round,
                                                                .steps = taken,
                                                                .epochs = batching_.by_epochs ? steps : 0,
                                                                .how = how,
                                                                .w = own[0],
                                                                .d = how.gamma ? &view[how.d] : nullptr,
                                                                .poll = poll_});
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  algorithm.method().end_node(view);
  NodeReport& report = evaluated ? last_report(worker) : new_report(worker, node);
  report.loss = trained.loss;
  report.evaluated = evaluated;
  report.seconds = took.count();
  report.metrics.merge(trained.metrics);
  return {trained.loss, evaluated.value_or(0)};
}

template <class T>
std::vector<NodeReport> ExternalRounds<T>::take(const Vector<T>& w) {
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
std::optional<TestMetrics> ExternalRounds<T>::test(const Vector<T>& w) const {
  const auto loss = find_metric(measured_, kTestLossMetric),
             accuracy = find_metric(measured_, kTestAccuracyMetric);
  if ((!loss && !accuracy) || measured_w_ != w) return std::nullopt;
  constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();
  return TestMetrics{{}, loss.value_or(kNothing), accuracy.value_or(kNothing)};
}

template class ExternalRounds<float>;
template class ExternalRounds<double>;

}  // namespace mfl
