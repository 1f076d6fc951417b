#include "mfl/engine/test_scores.h"

#include <span>
#include <string>
#include <vector>

#include "mfl/base/message.h"

namespace mfl {
namespace {

// One score per sample, of two classes or of a number.
struct ScoredRows {
  std::vector<double> scores, targets;
};

template <class T>
class TestPass {
 public:
  TestPass(const Model<T>& model, const Samples<T>& samples, const Vector<T>& w, TestDetail detail,
           Workers& workers)
      : model_(model),
        samples_(samples),
        w_(w),
        none_(model.outputs() == 1 ? 2 : model.outputs()),
        counts_(none_),
        keeps_counts_(detail == TestDetail::kClasses),
        keeps_rows_(detail == TestDetail::kNumbers || none_.classes() == 2) {
    std::vector<ClassCounts> of_worker(keeps_counts_ ? workers.count() : 0, none_);
    if (keeps_rows_) {
      rows_.scores.resize(samples.size());
      rows_.targets.resize(samples.size());
    }
    workers.for_each(row_blocks(samples.size()), [&](unsigned worker, std::size_t b) {
      score(block_of({0, samples.size()}, b), keeps_counts_ ? &of_worker[worker] : nullptr);
    });
    for (const ClassCounts& counts : of_worker) counts_.merge(counts);
  }

  ScoreMetrics metrics(Ranks* ranks) {
    if (ranks != nullptr) {
      gather_counts(*ranks);
      gather_rows(*ranks);
    }
    ScoreMetrics out;
    if (keeps_counts_) out.classes = counts_;
    if (keeps_rows_ && (ranks == nullptr || ranks->first())) {
      if (keeps_counts_)
        out.auc = roc_auc(rows_.scores, rows_.targets);
      else
        out.numbers = number_metrics(rows_.scores, rows_.targets);
    }
    if (ranks != nullptr && keeps_rows_) share_results(*ranks, out);
    return out;
  }

 private:
  void score(Shard block, ClassCounts* counts) {
    const std::size_t outputs = model_.outputs();
    std::vector<double> scores(block.count * outputs);
    model_.scores(samples_, block, w_.data(), scores.data());
    const T* y = samples_.targets(block.first);
    for (std::size_t r = 0; r < block.count; ++r) {
      const auto own = std::span<const double>(scores).subspan(r * outputs, outputs);
      const auto target = static_cast<double>(y[r]);
      if (counts != nullptr) counts->add_target(target, own);
      if (!keeps_rows_) continue;
      rows_.scores[block.first + r] = two_class_score(own);
      rows_.targets[block.first + r] = target;
    }
  }

  void gather_counts(Ranks& ranks) {
    if (!keeps_counts_) return;
    MessageWriter mine;
    mine.put_all(counts_.cells());
    ClassCounts all = none_;
    for (const std::string& message : ranks.gather(mine.bytes()))
      all.merge(MessageReader(message).take_all<std::uint64_t>());
    counts_ = std::move(all);
  }

  // Ranks have whole row blocks, those of lower ranks first.
  void gather_rows(Ranks& ranks) {
    if (!keeps_rows_) return;
    MessageWriter mine;
    mine.put_all(std::span<const double>(rows_.scores));
    mine.put_all(std::span<const double>(rows_.targets));
    rows_ = {};
    for (const std::string& message : ranks.gather_at_first(mine.bytes())) {
      MessageReader theirs(message);
      for (std::vector<double>* all : {&rows_.scores, &rows_.targets}) {
        const auto more = theirs.take_all<double>();
        all->insert(all->end(), more.begin(), more.end());
      }
    }
  }

  static void share_results(Ranks& ranks, ScoreMetrics& metrics) {
    MessageWriter firsts;
    firsts.put(metrics.auc);
    firsts.put(metrics.numbers);
    std::string bytes = firsts.bytes();
    ranks.share(bytes);
    MessageReader in(bytes);
    metrics.auc = in.take<std::optional<double>>();
    metrics.numbers = in.take<std::optional<NumberMetrics>>();
  }

  const Model<T>& model_;
  const Samples<T>& samples_;
  const Vector<T>& w_;
  ClassCounts none_, counts_;
  bool keeps_counts_, keeps_rows_;
  ScoredRows rows_;
};

}  // namespace

TestDetail detail_of(const TestLabels& labels) {
  if (!labels.classes.empty()) return TestDetail::kClasses;
  return labels.are_numbers ? TestDetail::kNumbers : TestDetail::kNone;
}

template <class T>
ScoreMetrics score_test_set(const Model<T>& model, const Samples<T>& samples, const Vector<T>& w,
                            TestDetail detail, Workers& workers, Ranks* ranks) {
  if (detail == TestDetail::kNone) return {};
  return TestPass<T>(model, samples, w, detail, workers).metrics(ranks);
}

template ScoreMetrics score_test_set(const Model<float>&, const Samples<float>&, const Vector<float>&,
                                     TestDetail, Workers&, Ranks*);
template ScoreMetrics score_test_set(const Model<double>&, const Samples<double>&, const Vector<double>&,
                                     TestDetail, Workers&, Ranks*);

}  // namespace mfl
