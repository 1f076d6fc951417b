#include "mfl/model/model.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace mfl {

std::size_t Tensor::size() const {
  return std::accumulate(shape.begin(), shape.end(), std::size_t{1}, std::multiplies<>());
}

Shard block_of(Shard shard, std::size_t block) {
  const std::size_t at = block * kRowBlock;
  return {shard.first + at, std::min(kRowBlock, shard.count - at)};
}

template <class T>
std::size_t Model<T>::parameters() const {
  std::size_t sum = 0;
  for (const Tensor& tensor : tensors()) sum += tensor.size();
  return sum;
}

template <class T>
void Model<T>::initialise(std::span<T> w, Stream /*stream*/) const {
  std::ranges::fill(w, T{0});
}

template <class T>
std::optional<double> Model<T>::smoothness(double /*gram_eigenvalue*/, double /*lambda*/) const {
  return std::nullopt;
}

template <class T>
std::unique_ptr<PassCache> Model<T>::make_cache(const Samples<T>& /*samples*/,
                                                std::span<const Shard> /*shards*/, std::size_t /*settings*/,
                                                std::size_t /*wave*/) const {
  return nullptr;
}

template <class T>
double Model<T>::regularised(const Kernels<T>& kernels, double lambda, double loss_sum, std::size_t n,
                             const T* w) const {
  const double mean = loss_sum / static_cast<double>(n);
  if (lambda == 0) return mean;
  return lambda / 2 * squared_norm(kernels, w) + mean;
}

template <class T>
Evaluation Model<T>::evaluate(const Samples<T>& samples, Shard rows, double lambda, const T* w) const {
  Evaluation sum;
  for (std::size_t block = 0; block < row_blocks(rows.count); ++block) {
    const Evaluation part = evaluate_block(samples, block_of(rows, block), w);
    sum.loss += part.loss;
    sum.correct += part.correct;
  }
  sum.loss = regularised(samples.kernels(), lambda, sum.loss, rows.count, w);
  return sum;
}

template class Model<float>;
template class Model<double>;

}  // namespace mfl
