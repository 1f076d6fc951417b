// The tensors of a trained model as the store and model files have them: names and shapes as JSON, numbers as bytes.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mfl/base/json.h"
#include "mfl/base/result.h"
#include "mfl/base/vectors.h"
#include "mfl/model/model.h"

namespace mfl {

// [{"name":"weights","shape":[784]}, ...], on one line.
std::string tensors_json(std::span<const Tensor> tensors);
// Takes any text. kBadData where it does not name tensors, or where they have more than 2^40 numbers together.
Result<std::vector<Tensor>> parse_tensors(std::string_view json);

// "weights [784], intercept [1]"
std::string tensors_text(std::span<const Tensor> tensors);

// Little-endian.
template <class T>
std::string number_bytes(const Vector<T>& numbers);
// bytes.size() is a multiple of sizeof(T); f32 becomes f64 without loss.
template <class T>
std::vector<double> numbers_in(std::string_view bytes);

}  // namespace mfl
