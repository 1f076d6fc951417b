#include "mfl/model/score_metrics.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

#include "mfl/model/samples.h"

namespace mfl {
namespace {

// The sum of `term` over n samples, block by block.
template <class Term>
double sum_in_blocks(std::size_t n, const Term& term) {
  double sum = 0;
  for (std::size_t first = 0; first < n; first += kRowBlock) {
    double block = 0;
    for (std::size_t i = first; i < std::min(n, first + kRowBlock); ++i) block += term(i);
    sum += block;
  }
  return sum;
}

bool is_below(double a, double b) { return a < b || (std::isnan(a) && !std::isnan(b)); }

ClassCounts count_scores(std::span<const double> scores, std::span<const double> targets,
                         std::size_t outputs) {
  ClassCounts counts(outputs == 1 ? 2 : outputs);
  for (std::size_t i = 0; i < targets.size(); ++i)
    counts.add_target(targets[i], scores.subspan(i * outputs, outputs));
  return counts;
}

Json class_json(const ScoreMetrics& metrics, const TestLabels& labels) {
  const Json all = to_json(*metrics.classes, labels.classes);
  if (labels.classes.size() != 2) return all;
  Json out = Json::object();
  for (const auto& [key, value] : all.members()) {
    if (key == "classes") {
      out["positive"] = value.elements().back();
      out["roc_auc"] = metrics.auc;
    }
    out[key] = value;
  }
  return out;
}

Json number_json(const NumberMetrics& metrics) {
  return {{"samples", metrics.samples}, {"rmse", metrics.rmse}, {"mae", metrics.mae}, {"r2", metrics.r2}};
}

}  // namespace

TestLabels test_labels(const Schema& schema, TargetKind kind, std::size_t outputs) {
  TestLabels out;
  out.external = schema.task == LabelTask::kExternal;
  out.are_numbers = schema.task == LabelTask::kRegression && outputs == 1;
  out.has_accuracy = schema.task != LabelTask::kRegression;
  if (!out.has_accuracy || out.external) return out;
  const std::vector<std::string>& classes = schema.classes;
  if (kind == TargetKind::kIndex) {
    if (outputs == classes.size() && outputs > 1) out.classes = classes;
  } else if (outputs == 1 && classes.size() == 2) {
    out.classes = {classes[schema.positive == classes[0] ? 1 : 0], schema.positive};
  }
  return out;
}

NumberMetrics number_metrics(std::span<const double> predictions, std::span<const double> targets) {
  assert(predictions.size() == targets.size());
  const std::size_t n = targets.size();
  NumberMetrics out;
  out.samples = n;
  if (n == 0) return out;
  const auto count = static_cast<double>(n);
  const double squares = sum_in_blocks(n, [&](std::size_t i) {
    const double error = predictions[i] - targets[i];
    return error * error;
  });
  out.rmse = std::sqrt(squares / count);
  out.mae = sum_in_blocks(n, [&](std::size_t i) { return std::abs(predictions[i] - targets[i]); }) / count;
  if (std::ranges::all_of(targets, [&](double y) { return y == targets[0]; })) return out;
  const double mean = sum_in_blocks(n, [&](std::size_t i) { return targets[i]; }) / count;
  const double spread = sum_in_blocks(n, [&](std::size_t i) {
    const double distance = targets[i] - mean;
    return distance * distance;
  });
  if (spread > 0) out.r2 = 1 - squares / spread;
  return out;
}

std::optional<double> roc_auc(std::span<const double> scores, std::span<const double> targets) {
  assert(scores.size() == targets.size());
  struct Sample {
    double score;
    bool positive;
  };
  std::vector<Sample> order(scores.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = {scores[i], targets[i] > 0};
  std::ranges::sort(order, is_below, &Sample::score);
  std::uint64_t positives = 0, negatives = 0, half_wins = 0;
  for (auto tied = order.begin(); tied != order.end();) {
    const auto next =
        std::find_if(tied, order.end(), [&](const Sample& one) { return is_below(tied->score, one.score); });
    const auto wins =
        static_cast<std::uint64_t>(std::count_if(tied, next, [](const Sample& one) { return one.positive; }));
    const std::uint64_t losses = static_cast<std::uint64_t>(next - tied) - wins;
    half_wins += wins * (2 * negatives + losses);
    positives += wins;
    negatives += losses;
    tied = next;
  }
  if (positives == 0 || negatives == 0) return std::nullopt;
  return static_cast<double>(half_wins) / (2 * static_cast<double>(positives * negatives));
}

double two_class_score(std::span<const double> scores) {
  return scores.size() == 1 ? scores[0] : scores.back() - scores.front();
}

ScoreMetrics evaluate_scores(std::span<const double> scores, std::span<const double> targets,
                             const TestLabels& labels) {
  ScoreMetrics out;
  if (targets.empty()) return out;
  const std::size_t outputs = scores.size() / targets.size();
  if (labels.are_numbers) out.numbers = number_metrics(scores, targets);
  if (labels.classes.empty()) return out;
  out.classes = count_scores(scores, targets, outputs);
  if (labels.classes.size() != 2) return out;
  std::vector<double> of_positive(targets.size());
  for (std::size_t i = 0; i < targets.size(); ++i)
    of_positive[i] = two_class_score(scores.subspan(i * outputs, outputs));
  out.auc = roc_auc(of_positive, targets);
  return out;
}

Json to_json(const ScoreMetrics& metrics, const TestLabels& labels) {
  if (metrics.classes) return class_json(metrics, labels);
  return metrics.numbers ? number_json(*metrics.numbers) : Json(nullptr);
}

std::string metrics_text(const ScoreMetrics& metrics, const TestLabels& labels) {
  const Json json = to_json(metrics, labels);
  return json.is_null() ? std::string() : json.dump();
}

}  // namespace mfl
