// What a model predicts for each class of a test set.
#pragma once

#include "mfl/engine/ranks.h"
#include "mfl/engine/workers.h"
#include "mfl/model/metrics.h"
#include "mfl/model/model.h"

namespace mfl {

// Over `samples` and, if ranks is not null, those of all ranks: the same counts on each of them. A model with one output tells two
// classes apart, the second of which has targets > 0; the targets of any other are numbers of classes.
template <class T>
ClassCounts count_classes(const Model<T>& model, const Samples<T>& samples, const Vector<T>& w,
                          Workers& workers, Ranks* ranks);

}  // namespace mfl
