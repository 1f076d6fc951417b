#include "mfl/model/metrics.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

namespace mfl {
namespace {

template <class T>
bool is_larger(T a, T b) {
  return a > b || (std::isnan(b) && !std::isnan(a));
}

double quotient(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

ClassScore score_of(const ClassCounts& counts, std::size_t c) {
  const std::uint64_t hits = counts.hits(c), support = counts.support(c), predicted = counts.predicted(c);
  return {quotient(hits, predicted), quotient(hits, support), quotient(2 * hits, support + predicted),
          support};
}

double mean_of(const std::vector<ClassScore>& scores, double ClassScore::*part) {
  double sum = 0;
  for (const ClassScore& score : scores) sum += score.*part;
  return sum / static_cast<double>(scores.size());
}

Json three_scores(const ClassScore& score) {
  return {{"precision", score.precision}, {"recall", score.recall}, {"f1", score.f1}};
}

}  // namespace

template <class T>
std::size_t predicted_class(std::span<const T> scores) {
  assert(!scores.empty());
  std::size_t best = 0;
  for (std::size_t i = 1; i < scores.size(); ++i)
    if (is_larger(scores[i], scores[best])) best = i;
  return best;
}

template <class T>
std::size_t rank_of(std::span<const T> scores, std::size_t truth) {
  assert(truth < scores.size());
  std::size_t ahead = 0;
  for (std::size_t i = 0; i < truth; ++i) ahead += is_larger(scores[truth], scores[i]) ? 0 : 1;
  for (std::size_t i = truth + 1; i < scores.size(); ++i)
    ahead += is_larger(scores[i], scores[truth]) ? 1 : 0;
  return ahead;
}

template std::size_t predicted_class(std::span<const float>);
template std::size_t predicted_class(std::span<const double>);
template std::size_t rank_of(std::span<const float>, std::size_t);
template std::size_t rank_of(std::span<const double>, std::size_t);

ClassCounts::ClassCounts(std::size_t classes)
    : classes_(classes),
      cells_(kRanks + kSums * classes + (classes <= kMostMatrixClasses ? classes * classes : 0)) {
  assert(classes > 0);
}

void ClassCounts::add(std::size_t truth, std::size_t predicted, std::size_t rank) {
  assert(truth < classes_ && predicted < classes_ && rank < classes_ && (rank == 0) == (truth == predicted));
  if (rank < kRanks) ++cells_[rank];
  ++sum(kSupport, truth);
  ++sum(kPredicted, predicted);
  if (truth == predicted) ++sum(kHits, truth);
  if (has_matrix()) ++cells_[matrix_cell(truth, predicted)];
}

template <class T>
void ClassCounts::add_scores(std::size_t truth, std::span<const T> scores) {
  assert(scores.size() == classes_);
  add(truth, predicted_class(scores), rank_of(scores, truth));
}

template void ClassCounts::add_scores(std::size_t, std::span<const float>);
template void ClassCounts::add_scores(std::size_t, std::span<const double>);

void ClassCounts::add_target(double target, std::span<const double> scores) {
  if (scores.size() != 1) return add_scores(static_cast<std::size_t>(target), scores);
  const std::size_t truth = target > 0 ? 1 : 0, predicted = scores[0] > 0 ? 1 : 0;
  add(truth, predicted, truth == predicted ? 0 : 1);
}

void ClassCounts::merge(const ClassCounts& other) { merge(other.cells()); }

void ClassCounts::merge(std::span<const std::uint64_t> cells) {
  assert(cells.size() == cells_.size());
  std::ranges::transform(cells_, cells, cells_.begin(), std::plus<>());
}

std::uint64_t ClassCounts::samples() const {
  const auto support = sums(kSupport);
  return std::accumulate(support.begin(), support.end(), std::uint64_t{0});
}

std::uint64_t ClassCounts::count(std::size_t truth, std::size_t predicted) const {
  assert(has_matrix() && truth < classes_ && predicted < classes_);
  return cells_[matrix_cell(truth, predicted)];
}

ClassMetrics metrics_of(const ClassCounts& counts) {
  static_assert(std::ranges::max(ClassMetrics::kTopK) <= ClassCounts::kRanks);
  ClassMetrics out;
  out.samples = counts.samples();
  out.accuracy = quotient(counts.correct(), out.samples);
  for (const std::size_t k : ClassMetrics::kTopK) {
    if (k >= counts.classes()) continue;
    std::uint64_t within = 0;
    for (std::size_t rank = 0; rank < k; ++rank) within += counts.rank(rank);
    out.top.push_back({k, quotient(within, out.samples)});
  }
  for (std::size_t c = 0; c < counts.classes(); ++c) out.classes.push_back(score_of(counts, c));
  out.macro = {mean_of(out.classes, &ClassScore::precision), mean_of(out.classes, &ClassScore::recall),
               mean_of(out.classes, &ClassScore::f1), out.samples};
  return out;
}

Json to_json(const ClassMetrics& metrics, std::span<const std::string> names) {
  assert(names.size() == metrics.classes.size());
  Json out = {{"samples", metrics.samples}, {"accuracy", metrics.accuracy}};
  for (const TopK& top : metrics.top) out["top_" + std::to_string(top.k)] = top.accuracy;
  out["macro"] = three_scores(metrics.macro);
  Json classes = Json::array();
  for (std::size_t c = 0; c < metrics.classes.size(); ++c) {
    Json one = Json::object();
    one["class"] = names[c];
    one.update(three_scores(metrics.classes[c]));
    one["support"] = metrics.classes[c].support;
    classes.push_back(std::move(one));
  }
  out["classes"] = std::move(classes);
  return out;
}

Json confusion_json(const ClassCounts& counts) {
  if (!counts.has_matrix()) return nullptr;
  Json out = Json::array();
  for (std::size_t truth = 0; truth < counts.classes(); ++truth) {
    Json row = Json::array();
    for (std::size_t predicted = 0; predicted < counts.classes(); ++predicted)
      row.push_back(counts.count(truth, predicted));
    out.push_back(std::move(row));
  }
  return out;
}

Json to_json(const ClassCounts& counts, std::span<const std::string> names) {
  Json out = to_json(metrics_of(counts), names);
  out["confusion"] = confusion_json(counts);
  return out;
}

}  // namespace mfl
