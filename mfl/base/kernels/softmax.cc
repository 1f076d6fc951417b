// Softmax regression.
#include <algorithm>

#include "mfl/base/kernels/targets-inl.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mfl/base/kernels/softmax.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "mfl/base/kernels/class_products-inl.h"
#include "mfl/base/kernels/softmax-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mfl::HWY_NAMESPACE {
namespace {

template <class T>
void softmax_gradient(const RowBlock<T>& block, std::size_t classes, bool intercept, const T* c,
                      const SoftmaxFinish<T>& finish, T* g) {
  if (softmax_gradient_of_tile(block, classes, intercept, c, finish, g)) return;
  const std::size_t weights = softmax_size(block.columns, classes, false);
  std::fill_n(g, softmax_size(block.columns, classes, intercept), T{0});
  softmax_add_rows(block, classes, intercept, c, g);
  finish_numbers(weights, finish.factor, finish.lambda, finish.w, g);
  if (intercept) finish_numbers(classes, finish.intercept_factor, T{0}, finish.w + weights, g + weights);
}

template <class T>
void put(Kernels<T>& kernels) {
  kernels.softmax_logits = softmax_logits<T>;
  kernels.softmax_losses = softmax_losses<T>;
  kernels.softmax_add_rows = softmax_add_rows<T>;
  kernels.softmax_gradient = softmax_gradient<T>;
}

}  // namespace

void put_softmax(KernelSet& set) {
  put(set.f32);
  put(set.f64);
}

}  // namespace mfl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
