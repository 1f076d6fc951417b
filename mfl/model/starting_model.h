// A model that starts from given weights.
#pragma once

#include <memory>

#include "mfl/base/vectors.h"
#include "mfl/model/model.h"

namespace mfl {

// As `model` in everything but initialise(), which gives `w` of model->parameters() numbers, whatever the seed.
template <class T>
std::shared_ptr<const Model<T>> starting_from(std::shared_ptr<const Model<T>> model, Vector<T> w);

}  // namespace mfl
