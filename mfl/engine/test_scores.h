// What a model predicts for a test set, in detail.
#pragma once

#include "mfl/engine/ranks.h"
#include "mfl/engine/workers.h"
#include "mfl/model/model.h"
#include "mfl/model/score_metrics.h"

namespace mfl {

// What is asked for beside loss and accuracy.
enum class TestDetail { kNone, kClasses, kNumbers };

// kClasses where metrics by class apply, kNumbers where targets are numbers, else kNone.
TestDetail detail_of(const TestLabels& labels);

// Over `samples` and, if ranks is not null, those of all ranks: the same metrics on each of them, and the same as those of
// evaluate_scores() for all samples in their order. Memory: a score and a target per sample on the first rank; for more than two classes
// only counts.
template <class T>
ScoreMetrics score_test_set(const Model<T>& model, const Samples<T>& samples, const Vector<T>& w,
                            TestDetail detail, Workers& workers, Ranks* ranks);

}  // namespace mfl
